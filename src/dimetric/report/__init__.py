"""Reports: a comparison as one HTML file."""
