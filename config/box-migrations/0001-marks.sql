-- What the platform notes about this box in the box itself: it travels with every snapshot, restore and move.
-- One value per name; names begin with the room that writes them, such as restore.last.
create table tenantry.marks (
  name text primary key check (name ~ '^[a-z][a-z0-9_.-]{0,99}$'),
  value jsonb not null,
  changed_at timestamptz not null default now()
);
