"""The web desk: views, forms, lists and templates' helpers of the admin interface."""
