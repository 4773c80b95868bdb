"""MySQL and MariaDB as sources."""
