"""An ordinary export, sanitized in one sitting."""
