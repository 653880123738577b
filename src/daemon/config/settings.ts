import { z } from 'zod'
import { Slug, StoredSnapshotMode } from '../../core/boxes/index.ts'
import { defaultNativeOrigins, wrongNativeOrigin } from '../../core/edge/index.ts'
import { RequestedFence } from '../../core/rollouts/index.ts'
import { readStoreAddress } from '../../core/snapshots/index.ts'
import { TimeZone } from '../../core/windows/index.ts'
import { AlertChannels, AlertRules, checkChannelNames } from './alert-channels.ts'
import { Oidc } from './oidc.ts'
import { Collector, MailSender, MailServer, Prometheus, WebhookSecret, WebhookUrl } from './outbound.ts'
import { Payments, Stripe } from './payments.ts'
import { ProxyAddress } from './proxy-address.ts'
import { SnapshotSessions } from './snapshot-sessions.ts'
import { TierWindow } from './tier-window.ts'

const List = z.union([
  z.array(z.string()),
  z.string().transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean),
  ),
])
const Ms = z.coerce.number().int().min(1)
const Base64Key = z
  .string()
  .refine((text) => Buffer.from(text, 'base64').length === 32, 'must be 32 bytes in base64: `openssl rand -base64 32` creates one')
const AccessKey = z.strictObject({ accessKeyId: z.string(), secretAccessKey: z.string() })
const FenceOfTier = RequestedFence.default('auto')
const SnapshotOfTier = StoredSnapshotMode.default('hot')
const OnOff = z.union([z.boolean(), z.stringbool()]).default(false)
const Budget = z.coerce.number().int().min(1).max(10_000_000)
const Gigabytes = z.coerce.number().min(0.001).max(1_000_000)
const Count = z.coerce.number().int().min(1).max(10_000)
const NativeOrigin = z.string().superRefine((text, { addIssue }) => {
  const message = wrongNativeOrigin(text)
  if (message) addIssue({ code: 'custom', message })
})
const StoreAddress = z.string().superRefine((text, { addIssue }) => {
  const address = readStoreAddress(text)
  if (typeof address === 'string') addIssue({ code: 'custom', message: address })
})

/** Every setting of the daemon. The file has this shape; `snapshotStore` is also TENANTRY_SNAPSHOT_STORE, `probe.spacingMs` TENANTRY_PROBE_SPACING_MS. */
export const Settings = z.strictObject({
  listen: z
    .string()
    .regex(/^(\[[0-9a-f:]+\]|[^:]+):[0-9]{1,5}$/, 'must be address:port, such as 127.0.0.1:8440')
    .refine((listen) => Number(listen.slice(listen.lastIndexOf(':') + 1)) <= 65_535, 'must have a port of at most 65535')
    .default('127.0.0.1:8440'),
  dataDir: z.string().default('./.tenantry'),
  /** `sqlite:<file>` or `postgres://…`; the default is a file in `dataDir`. */
  database: z
    .string()
    .regex(/^(sqlite:|postgres(ql)?:\/\/)/, 'must begin with sqlite: or postgres://')
    .optional(),
  /** Time limit of PostgreSQL for a statement and for an idle transaction; 0: none. */
  databaseTimeoutMs: z.coerce
    .number()
    .int()
    .min(0)
    .max(24 * 60 * 60_000)
    .refine((ms) => ms === 0 || ms >= 1000, 'must be 1000 or more, or 0 for no limit')
    .default(60_000),
  /** Which installation this is, for people who have several: production, test. */
  installation: z.strictObject({ name: z.string().trim().min(1).max(40, 'must have at most 40 characters').optional() }).prefault({}),
  publicUrl: z.url({ protocol: /^https?$/ }).optional(),
  /** First seals, all open: put a new key in front to rotate, then run `tenantryd rekey`. */
  secretKey: z.preprocess((value) => (typeof value === 'string' ? value.split(',') : value), z.array(Base64Key).min(1)).optional(),
  /** Snapshot repositories are opened by keys derived from it. Keep a copy where no box and no daemon is. */
  backupKey: Base64Key.optional(),
  /** Opens every repository by its second key, on the day when the backup key is lost. Keep a copy where neither is. */
  recoveryKey: Base64Key.optional(),
  snapshotStore: StoreAddress.optional(),
  /** Sent to agents; best a key that cannot delete. */
  snapshotStoreCredentials: AccessKey.optional(),
  /** STS endpoint for temporary credentials per command and tenant; default: agents get the key itself. */
  snapshotSessions: SnapshotSessions.optional(),
  /** Used by the daemon to delete old snapshots, never sent to agents. Default: the agents' own. */
  snapshotUpkeep: AccessKey.optional(),
  /** How long snapshots are kept, and how long one may take. */
  snapshots: z
    .strictObject({
      keepDaily: Count.default(7),
      keepWeekly: Count.default(4),
      keepMonthly: Count.default(6),
      preUpdateDays: Count.default(30),
      preRestoreDays: Count.default(30),
      manualDays: Count.default(90),
      finalDays: Count.default(365),
      /** Whether the log of boxes is stored every minute, so that every moment can be restored. */
      archive: z.strictObject({ free: OnOff, pro: OnOff, enterprise: OnOff }).prefault({}),
      archiveDays: Count.max(365).default(14),
      /** For one snapshot, restore or drill, from the moment its agent begins. */
      deadlineMs: Ms.default(6 * 60 * 60_000),
    })
    .prefault({}),
  /** Where the files of spaces are; the default is `objects` in `dataDir`, which only one daemon has. */
  objectStore: StoreAddress.optional(),
  objectStoreCredentials: AccessKey.optional(),
  /** Gigabytes that the files of a tenant may have together, by its plan. */
  files: z.strictObject({ light: Gigabytes.default(10), pro: Gigabytes.default(100), dedicated: Gigabytes.default(1000) }).prefault({}),
  /** Type A modules. */
  modules: z
    .strictObject({
      /** Runs at once in this daemon; default: all processors but one. */
      threads: Count.max(64).optional(),
    })
    .prefault({}),
  approvalTokenSha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be 64 hex digits: `tenantryd approval-token` prints them')
    .optional(),
  /** `GET /metrics`. */
  metrics: z
    .strictObject({
      /** Its bearer token. Without the file metrics are open, and have no names of boxes and hosts. */
      tokenFile: z.string().min(1).optional(),
      /** Live boxes with metrics of their own, by slug; 0: none. */
      maxBoxes: z.coerce.number().int().min(0).max(100_000).default(10_000),
    })
    .prefault({}),
  /** The server that gates of rollouts ask. */
  prometheus: Prometheus.prefault({}),
  /** Spans for a collector (OTLP/HTTP). */
  tracing: z
    .strictObject({
      /** Its base address; without it there are no spans. */
      endpoint: Collector.optional(),
      /** Part of the traces begun here that is sent; those of the command line always are. */
      sampleRatio: z.coerce.number().min(0).max(1).default(1),
    })
    .prefault({}),
  log: z.enum(['pretty', 'json']).optional(),
  logLevel: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
  /** Addresses of proxies whose forwarding header is believed. */
  trustedProxies: List.pipe(z.array(ProxyAddress)).default([]),
  /** Calls of automation tools. */
  automation: z
    .strictObject({
      /** False: calls without a key are accepted for every tenant. */
      requireKey: z.union([z.boolean(), z.stringbool()]).default(true),
      /** Networks that calls may come from; none: any. */
      networks: List.pipe(z.array(ProxyAddress)).default([]),
    })
    .prefault({}),
  /** The store of modules. */
  store: z
    .strictObject({
      /** Registration of developers: every user with `manageModules`, a user with a code of an operator, or none. */
      registration: z.enum(['open', 'invite', 'closed']).default('invite'),
    })
    .prefault({}),
  /** The account at the payment provider. */
  stripe: Stripe.prefault({}),
  /** Prices and invoices. */
  payments: Payments.prefault({}),
  /** When a box counts as healthy (service specification, section 8). */
  probe: z
    .strictObject({
      consecutive: z.coerce.number().int().min(1).max(20).default(3),
      spacingMs: Ms.default(60_000),
      /** Between the probes that end a fence. */
      quickSpacingMs: Ms.default(300),
      /** A server that fails in the same way for this long is restored. */
      steadyFailureMs: Ms.default(120_000),
      timeoutMs: Ms.default(30 * 60_000),
    })
    .prefault({}),
  rollouts: z
    .strictObject({
      parallel: z.coerce.number().int().min(1).max(50).default(3),
      perHost: z.coerce.number().int().min(1).max(50).default(1),
      pollMs: Ms.default(5000),
      /** A box that takes longer than this, all steps together, has failed. */
      actionDeadlineMs: Ms.default(2 * 60 * 60_000),
      /** Pull and snapshot, or recreate: plans assume this until the fleet has measured updates. */
      assumedUpdateMs: Ms.default(60_000),
    })
    .prefault({}),
  /** Where budgets are counted when several daemons share them; without it each counts for itself. */
  redis: z.url({ protocol: /^rediss?$/, error: 'must be redis://host:port or rediss://user:password@host:port' }).optional(),
  /** How much may be asked (service specification, section 8). */
  limits: z
    .strictObject({
      /** Requests per minute that all users of a tenant share, by its plan. */
      light: Budget.default(2000),
      pro: Budget.default(10_000),
      dedicated: Budget.default(20_000),
      /** Requests that wait because their tenant is above 80 % of its budget: on this daemon, and of one tenant. As many more wait to log in. */
      held: z.coerce.number().int().min(0).max(100_000).default(5000),
      heldPerTenant: z.coerce.number().int().min(0).max(100_000).default(1000),
      /** Requests per second of one address; twice as many at once. */
      perAddress: Budget.default(30),
      loginsPerAddress: Budget.default(5),
      /** Logins of one address beyond that, which wait for their turn. */
      loginBuffer: z.coerce.number().int().min(0).max(1000).default(25),
      /** A Redis that does not answer within this is passed over. */
      storeTimeoutMs: Ms.max(10_000).default(250),
    })
    .prefault({}),
  /** Mail to people. Without `smtp` it is written into a folder. */
  mail: z
    .strictObject({
      /** `smtp://` (encrypted by STARTTLS) or `smtps://user:password@host:port`. */
      smtp: MailServer.optional(),
      from: MailSender.default('Tenantry <tenantry@localhost>'),
      /** The default is `mail` in `dataDir`. */
      folder: z.string().min(1).optional(),
    })
    .prefault({}),
  /** Networks that servers named by others may be in, beside the public internet: services of modules. */
  egress: z.strictObject({ allow: List.default([]) }).prefault({}),
  /** Recipients of alerts. */
  alerts: z
    .strictObject({
      mailTo: List.pipe(z.array(z.email('must be a mail address'))).default([]),
      webhook: z.strictObject({ url: WebhookUrl, secret: WebhookSecret }).optional(),
      /** Rooms and services that get alerts. */
      channels: AlertChannels,
      /** Which alerts a channel gets, and when; by its name, which is `mail` and `webhook` for those two. */
      rules: AlertRules,
      /** A repeated open alert is sent again after this. */
      repeatAfterMs: Ms.default(60 * 60_000),
      /** Finished rollouts are reported too, each with the signed head of its audit log; an aborted one always is. */
      onDone: z.union([z.boolean(), z.stringbool()]).default(false),
    })
    .superRefine(checkChannelNames)
    .prefault({}),
  fence: z
    .strictObject({
      /** A plan refuses boxes with a longer expected downtime, unless that is allowed. */
      maxMinutes: z.coerce
        .number()
        .min(1)
        .max(24 * 60)
        .default(15),
      /** When maintenance of a box ends during its update; `auto`: by what its rollback would lose. */
      mode: z.strictObject({ free: FenceOfTier, pro: FenceOfTier, enterprise: FenceOfTier }).prefault({}),
      /** When the snapshot of an update is stored: before the new version starts, or from a hot copy. */
      snapshot: z.strictObject({ free: SnapshotOfTier, pro: SnapshotOfTier, enterprise: SnapshotOfTier }).prefault({}),
      /** The speed of a hot copy: users are on the same disk. */
      copyMegabytesPerSecond: z.coerce.number().min(1).max(100_000).default(64),
    })
    .prefault({}),
  /** Updates to another major version of PostgreSQL. */
  postgres: z
    .strictObject({
      /** How long the volume of the former version is kept on its host. */
      keepFormerDays: z.coerce.number().int().min(1).max(365).default(7),
      /** A rehearsal that is older does not count. */
      rehearsalDays: z.coerce.number().int().min(1).max(365).default(14),
    })
    .prefault({}),
  /** The clock that windows go by; a tenant may have its own. */
  timeZone: TimeZone.default('UTC'),
  /** When rollouts may disturb boxes of each tier whose tenants say nothing themselves; null: at any time. */
  windows: z.strictObject({ free: TierWindow, pro: TierWindow, enterprise: TierWindow }).prefault({}),
  /** How long before an update of its box an organisation is notified of it; one that begins sooner is notified at once. */
  maintenance: z.strictObject({ leadHours: z.coerce.number().int().min(0).max(336).default(24) }).prefault({}),
  agents: z
    .strictObject({
      longPollMs: Ms.max(60_000).default(25_000),
      /** Silence after which a host is offline. */
      offlineAfterMs: Ms.default(90_000),
      /** An agent with a command must report within this time, or the command is offered again. */
      requeueAfterMs: Ms.default(120_000),
      /** Silence after which a running command counts as lost. It must be longer than `requeueAfterMs`. */
      reapAfterMs: Ms.default(10 * 60_000),
    })
    .prefault({}),
  boxes: z
    .strictObject({
      /** Ports given to new boxes on each host, three each. */
      firstPort: z.coerce.number().int().min(1024).max(65_000).default(18_000),
      /** A report older than this says nothing about a box any more. */
      staleAfterMs: Ms.default(26 * 60 * 60_000),
      /** How long the data of a removed box, and the copy that a move leaves on the old host, are kept. */
      keepRemovedDays: Count.default(30),
    })
    .prefault({}),
  /** Which roles the users of tenants may have; the default is `config/roles.yaml` of the package. */
  roles: z.string().min(1).optional(),
  /** Slug of the tenant that operates the store: only its users review it, whatever roles others have. */
  operatorTenant: Slug.optional(),
  /** Sessions of tenants' users. */
  sessions: z
    .strictObject({
      /** Then a session ends however often it was refreshed. */
      absoluteDays: Count.max(3650).default(90),
      /** A refresh token that lies unused for longer is over. */
      idleDays: Count.max(3650).default(30),
      /** A used refresh token is accepted again within this, unless its successor was used. 0: a second use ends the session. */
      graceSeconds: z.coerce.number().int().min(0).max(300).default(0),
      /** A login beyond these ends the session that was unused for longest. */
      mostPerUser: Count.max(1000).default(100),
    })
    .prefault({}),
  /** Whose web pages and apps may read answers besides tenants' own web chats. */
  cors: z.strictObject({ nativeOrigins: List.pipe(z.array(NativeOrigin)).default([...defaultNativeOrigins]) }).prefault({}),
  homeservers: z
    .strictObject({
      /** Networks besides loopback over which chat servers are reached by `http`. */
      privateNetworks: List.default([]),
    })
    .prefault({}),
  admin: z
    .strictObject({
      /** Demand one-time codes of `admin` and `operator`; the default is yes unless everything is on loopback. */
      requireTotp: z.union([z.boolean(), z.stringbool()]).optional(),
      oidc: Oidc.prefault({}),
    })
    .prefault({}),
})

export type Settings = z.output<typeof Settings>
