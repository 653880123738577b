create extension pg_trgm;
