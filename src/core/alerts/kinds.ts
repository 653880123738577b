type Kind = Readonly<{
  /** Unless the alert has another one. */
  severity: 'info' | 'warning' | 'critical'
  /** The subject: a name or an id; a `run` and a `board` have the slug of their tenant in front. Null: the fleet, or a part of the daemon. */
  about: 'box' | 'rollout' | 'host' | 'tenant' | 'board' | 'run' | 'module' | 'submission' | null
  /** When it is raised. */
  raised: string
  /** When the daemon closes it. Null: never, it is acknowledged. */
  closed: string | null
}>

/**
 * Every kind of alert, one for each reaction. The text of an alert is where it is raised: it says which case it is, and the command to run next.
 * `docs/alert-kinds.md` is made from this table.
 */
export const alertKinds = {
  update_failed: {
    severity: 'critical',
    about: 'box',
    raised:
      'An update of a box failed its probe or left an unexpected image, so users may be on it, or its agent did not report a result in time. ' +
      'Warning if the box was rolled back',
    closed: 'a later update of the box succeeds, the box is restored or rolled back, or the late result is reported',
  },
  rollback_failed: {
    severity: 'critical',
    about: 'box',
    raised: 'The rollback of a box in a rolled back rollout failed, and the box serves its users',
    closed: 'the box is rolled back',
  },
  box_down: {
    severity: 'critical',
    about: 'box',
    raised:
      'The chat of an open box has not worked for two minutes, though its host is online. Or an update, rollback or restore failed, and so did the ' +
      'return to the previous data: the box is stopped',
    closed: 'the chat works, or the box is open again',
  },
  box_degraded: {
    severity: 'warning',
    about: 'box',
    raised: 'A part of an open box, such as its object store, has not worked for two minutes, or a service restarts again and again',
    closed: 'all parts work',
  },
  move_stranded: {
    severity: 'critical',
    about: 'box',
    raised: 'Neither host of a move runs the box, or the new one may run it unknown to its agent',
    closed: 'a host runs the box again',
  },
  fence_stuck: {
    severity: 'critical',
    about: 'box',
    raised: 'A box is in maintenance longer than its operation may take',
    closed: 'the box is open again',
  },
  rollout_paused: {
    severity: 'warning',
    about: 'rollout',
    raised: 'The engine paused a rollout. Info at a hold point, or if a person paused it',
    closed: 'it is resumed or finished',
  },
  rollout_rolled_back: {
    severity: 'warning',
    about: 'rollout',
    raised: 'A person rolled a rollout back. Info if its boxes stay updated. Names the manifest that still asks for their versions',
    closed: null,
  },
  emergency: {
    severity: 'warning',
    about: 'rollout',
    raised: 'An emergency rollout was created, and again when it is started',
    closed: 'it is finished',
  },
  rollout_signed: {
    severity: 'info',
    about: 'rollout',
    raised:
      'A rollout was aborted (warning), once; with `alerts.onDone` also each other finished rollout. Its audit log is signed; keep the message',
    closed: 'it is raised, because it needs no action',
  },
  host_offline: {
    severity: 'critical',
    about: 'host',
    raised: 'The agent of a host has been silent for two minutes; the state of its boxes is unknown. Warning if the host has no boxes',
    closed: 'the agent is back, or the host is revoked',
  },
  boxes_unchecked: {
    severity: 'critical',
    about: 'host',
    raised: 'The agent of a host is connected, and has not checked all its open boxes for ten minutes: the container engine may be down',
    closed: 'it has checked them',
  },
  disk_low: {
    severity: 'warning',
    about: 'host',
    raised:
      'Less than a tenth of the disk of a host is free, or it is full within two days at the rate of the last week; critical at 2 % or within a day',
    closed: '12 % are free, and the disk does not fill so fast any more',
  },
  clock_skew: {
    severity: 'warning',
    about: 'host',
    raised: 'The clock of a host differs from that of the daemon by more than 30 s',
    closed: 'it does not any more',
  },
  certificate_expiring: {
    severity: 'warning',
    about: 'box',
    raised:
      'The certificate of the public address of a box ends within 14 days, checked daily. Another, critical one where it ends within 3 days',
    closed: 'it is renewed',
  },
  host_frozen: {
    severity: 'critical',
    about: 'host',
    raised: 'Two agents used one key, or an agent used a replaced key',
    closed: 'the host is revoked or enrolled again',
  },
  snapshot_overdue: {
    severity: 'warning',
    about: null,
    raised:
      'Boxes have no snapshot of the last 26 h, though one is due every day; or their snapshots were not checked or drilled for five weeks, ' +
      'checked weekly. One alert for all boxes',
    closed: 'every box has one, within a minute, or all were checked',
  },
  archive_behind: {
    severity: 'warning',
    about: 'box',
    raised: 'The store lacks more than five minutes of the log of a box whose tier has an archive',
    closed: 'the store has it, or the box has no archive any more',
  },
  snapshot_store_lost: {
    severity: 'critical',
    about: null,
    raised: 'The repositories of a host, or of the bucket, are gone. One alert for all of them',
    closed: 'a check has read each of them again, or their snapshots were abandoned',
  },
  snapshot_damaged: {
    severity: 'critical',
    about: 'box',
    raised: 'A snapshot is missing, or a repository failed its check. Warning if a drill failed',
    closed: 'a later check, or a later drill, succeeds',
  },
  audit_broken: {
    severity: 'critical',
    about: null,
    raised: 'The audit log no longer matches its signed head',
    closed: 'it matches again',
  },
  budget_high: {
    severity: 'warning',
    about: 'tenant',
    raised: 'A tenant used more than 80 % of its requests for 10 minutes',
    closed: 'its use is below that for a minute',
  },
  chat_refused: {
    severity: 'warning',
    about: 'tenant',
    raised: 'A chat server refuses the lock, name or account of a user',
    closed: 'it accepts a later attempt',
  },
  passwords_lost: {
    severity: 'warning',
    about: 'tenant',
    raised:
      'A restore lost chat accounts, which were created again with random passwords, or it made previous passwords valid again. One alert for each',
    closed: 'each of the users has a new password',
  },
  jobs_stuck: {
    severity: 'warning',
    about: null,
    raised:
      'Jobs of a topic (locks, rooms, mail, payments) have waited for more than an hour, or are dead; or a scheduled job of billing failed, and its ' +
      'next time is too late. One alert for each topic and each scheduled job',
    closed: 'none of them waits or is dead, or the scheduled job runs again',
  },
  run_stalled: {
    severity: 'warning',
    about: 'run',
    raised: 'A run failed, except by a rejection or a cancel; or it or its elements were not done in time. One alert for each case',
    closed: 'it is cancelled or retried; nothing is late',
  },
  run_output_failed: {
    severity: 'warning',
    about: 'run',
    raised: 'A message of a run was not sent, or a report was not stored, such as over the storage quota. The run continued',
    closed: 'the report is stored, or the run is deleted',
  },
  trigger_failed: {
    severity: 'warning',
    about: 'board',
    raised:
      'A trigger of a board should have started a run, which was refused, or its message was read more than an hour after it was written; a room ' +
      'whose messages start runs was encrypted; or messages of such a room were not read, which is to be acknowledged',
    closed: 'a trigger of the board starts a run, the board has no triggers any more, or no published board reads the encrypted room',
  },
  module_failed: {
    severity: 'warning',
    about: 'tenant',
    raised:
      'A module was 10,000 events or 7 days behind in a tenant, and events were skipped; or the service of a type B module did not confirm for 30 ' +
      'days that it deleted the data of a tenant',
    closed: null,
  },
  paid_module_withdrawn: {
    severity: 'warning',
    about: 'module',
    raised: 'Tenants pay for an app whose module is withdrawn',
    closed: 'it is restored; otherwise acknowledge it once the subscriptions have ended',
  },
  review_due: {
    severity: 'warning',
    about: 'submission',
    raised: 'A submission of the marketplace has waited a day for a review',
    closed: 'it is reviewed',
  },
  payment_failed: {
    severity: 'warning',
    about: 'tenant',
    raised: 'A payment of a tenant for an item, its plan, modules or usage failed. Nothing is taken away',
    closed: 'it is paid, the subscription ended, or the invoice was voided or marked uncollectible',
  },
  payment_returned: {
    severity: 'warning',
    about: 'tenant',
    raised:
      'The bank of a tenant takes a payment back (dispute), and again if the dispute is lost; or it refused a refund, and the money is with the platform',
    closed: 'the dispute is decided; acknowledge a lost one and a failed refund',
  },
  installation_failed: {
    severity: 'warning',
    about: 'tenant',
    raised:
      'A paid installation could not be finished and was refunded, or cannot be cancelled or refunded; or the payment provider rejects the ' +
      'installation of an item for a reason that its tenants cannot remove',
    closed: 'it is paid back, or a tenant has installed the item; acknowledge one that was refunded',
  },
  billing_incomplete: {
    severity: 'warning',
    about: 'tenant',
    raised:
      'Modules or users cannot be billed (one alert for all, and one for each tenant that was deleted with unbilled months); usage came after its ' +
      'invoice; or an invoice could not be finalised. Critical if the payment provider rejected reports of usage',
    closed: 'all are billed or waived; acknowledge the others',
  },
  vendor_restricted: {
    severity: 'warning',
    about: null,
    raised: 'The payment account of a vendor is restricted; its paid items cannot be installed',
    closed: 'the account is active',
  },
  plan_ended: {
    severity: 'warning',
    about: 'tenant',
    raised: 'The subscription of the plan of a tenant ended; a Light tenant is suspended',
    closed: 'it has one again',
  },
  suspended_again: {
    severity: 'warning',
    about: 'tenant',
    raised: 'The time for which a tenant was resumed has ended',
    closed: 'it is resumed',
  },
  billing_differs: {
    severity: 'warning',
    about: 'tenant',
    raised:
      'The daily comparison with the payment provider found differences, one alert for all; or a tenant has a second live subscription of a plan',
    closed: 'there are none, or one subscription is left',
  },
} as const satisfies Readonly<Record<string, Kind>>
