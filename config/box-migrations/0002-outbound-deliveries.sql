-- Which events of this box the platform has passed on, so that whoever passes them on can go on after a restore without doing it twice.
create table tenantry.deliveries (
  receiver text not null,
  event_id text not null,
  delivered_at timestamptz not null default now(),
  primary key (receiver, event_id)
);

-- Old ones are cleared by time.
create index deliveries_by_time on tenantry.deliveries (delivered_at);
