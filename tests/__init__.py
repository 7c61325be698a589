"""The promises of the product, told as tests; folders mirror the tree."""
