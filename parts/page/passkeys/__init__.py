"""A passkey of the person, on the page: registering one, and signing what was chosen."""
