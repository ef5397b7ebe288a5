"""What makes the site of the pages in docs/: cells are run, mechanisms and the API get pages of their own."""
