#!/bin/sh
# Run once, when the volume of PostgreSQL is new: the role of the application, with its password.
set -eu
psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set password="$APP_PASSWORD" <<'SQL'
create role oneiros_app login nosuperuser nobypassrls nocreatedb nocreaterole password :'password';
SQL
