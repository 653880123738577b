type Entry = Readonly<{ status: number; retryable: boolean; exit: ExitCode; title: string }>

/** Exit codes of the three programs: 0 done, 1 failed, 2 usage, 3 not found, 4 not allowed, 5 conflict, 6 unavailable, 7 rollout failed, 8 rollout paused, 9 rollout done without some boxes. */
export type ExitCode = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9

const entry = (status: number, exit: ExitCode, title: string): Entry => ({ status, retryable: false, exit, title })
const retryable = (status: number, exit: ExitCode, title: string): Entry => ({ status, retryable: true, exit, title })

/**
 * Every expected failure. A code that is not listed cannot be raised. Codes raised only by agents have status 500: they are part of results,
 * not of HTTP responses.
 */
export const catalogue = {
  // the request itself
  VALIDATION: entry(400, 2, 'The request is not valid'),
  BAD_JSON: entry(400, 2, 'The body is not JSON'),
  UNAUTHENTICATED: entry(401, 4, 'A valid token is required'),
  FORBIDDEN: entry(403, 4, 'Not permitted for this account'),
  NOT_FOUND: entry(404, 3, 'Not found'),
  METHOD_NOT_ALLOWED: entry(405, 2, 'Method not allowed for this path'),
  CONFLICT: entry(409, 5, 'Conflict with the current state'),
  ALREADY_EXISTS: entry(409, 5, 'The name is taken'),
  INVALID_TRANSITION: entry(409, 5, 'Not possible in this state'),
  PAYLOAD_TOO_LARGE: entry(413, 2, 'The body is too large'),
  RANGE_NOT_SATISFIABLE: entry(416, 2, 'The range is outside the file'),
  UNSUPPORTED_MEDIA_TYPE: entry(415, 2, 'The body has the wrong type'),
  RATE_LIMITED: retryable(429, 6, 'Too many requests'),
  NOT_IMPLEMENTED: entry(501, 2, 'Not supported'),
  INTERNAL: entry(500, 1, 'Internal error'),
  UNAVAILABLE: retryable(503, 6, 'Not available right now'),
  CONFIG: entry(503, 6, 'A required setting is missing'),
  // admin accounts
  LOGIN_FAILED: entry(401, 4, 'The login failed'),
  LOGIN_PROVIDER_UNAVAILABLE: retryable(503, 6, 'The provider of logins does not answer'),
  ACCOUNT_LOCKED: retryable(429, 4, 'Too many failed logins'),
  WRONG_PASSWORD: entry(401, 4, 'The current password is wrong'),
  SETUP_REQUIRED: entry(403, 4, 'The account set-up is incomplete'),
  LINK_INVALID: entry(401, 4, 'The link is unknown, used or expired'),
  TOTP_REQUIRED: entry(401, 4, 'A TOTP code is required'),
  REAUTHENTICATION_REQUIRED: entry(403, 4, 'The password must be entered again'),
  // sessions of tenants' users
  TENANT_SUSPENDED: entry(403, 4, 'The organisation is suspended'),
  INVALID_MATRIX_TOKEN: entry(401, 4, 'A chat token was sent instead of a platform token'),
  REFRESH_TOKEN_INVALID: entry(401, 4, 'The refresh token is unknown or has expired'),
  REFRESH_TOKEN_REUSED: entry(401, 4, 'The refresh token was used before'),
  // boards
  BOARD_INVALID: entry(422, 5, 'The board has faults'),
  BOARD_NOT_ACTIVE: entry(409, 5, 'The board is not active'),
  // automation
  NO_ROOM: entry(409, 5, 'The event has no chat room'),
  // runs of boards
  RUN_ENDED: entry(409, 5, 'The run has ended'),
  RUN_FAILED: entry(409, 5, 'The run has failed'),
  RUN_CHANGED: entry(409, 5, 'The run changed since it was read'),
  VERSION_UNFIT: entry(409, 5, 'The run cannot continue with this version of its board'),
  ELEMENT_NOT_ACTIVE: entry(409, 5, 'The run does not wait at this element'),
  KEY_REUSED: entry(409, 5, 'The idempotency key was used for another request'),
  // modules
  UNKNOWN_MODULE: entry(400, 2, 'There is no such module'),
  PERMISSION_NOT_DECLARED: entry(400, 2, 'The manifest does not declare the permission'),
  ALREADY_INSTALLED: entry(409, 5, 'The module is already installed'),
  RETENTION_EXPIRED: entry(409, 5, 'The data of the module has expired'),
  INCOMPATIBLE: entry(409, 5, 'The module needs another version of the module interface'),
  FLAG_TAKEN: entry(409, 5, 'The feature flag belongs to another module'),
  PERMISSIONS_CHANGED: entry(409, 5, 'The version declares other permissions'),
  MODULE_MIGRATION_FAILED: entry(422, 5, 'A data migration of the module failed'),
  VERSION_EXISTS: entry(409, 5, 'The version is not greater than the approved one'),
  MODULE_INVALID: entry(422, 5, 'The module package is not valid'),
  MANIFEST_MISMATCH: entry(422, 5, 'The manifest differs from the one in the package'),
  MODULE_FAILED: entry(502, 1, 'The module failed'),
  MODULE_LIMIT: entry(502, 1, 'The module broke a limit and was ended'),
  SCAN_FAILED: entry(422, 5, 'The scan found forbidden code'),
  PACKAGE_UNVERIFIED: entry(500, 1, 'The stored package failed verification'),
  MODULE_SERVICE_FAILED: retryable(502, 6, 'The service of the module failed'),
  // marketplace and payments
  MODULE_NOT_REGISTERED: entry(409, 5, 'No approved module has the feature flag of the app'),
  VENDOR_INACTIVE: entry(409, 5, 'The vendor cannot be paid'),
  NO_PAYMENT_CUSTOMER: entry(402, 5, 'The tenant has no payment customer'),
  PAYMENT_FAILED: entry(402, 5, 'The payment was refused'),
  PAYMENTS_UNAVAILABLE: retryable(503, 6, 'The payment provider is not available'),
  // files
  QUOTA_EXCEEDED: entry(409, 5, 'The quota is exceeded'),
  OBJECT_STORE_UNAVAILABLE: retryable(503, 6, 'The object store does not answer'),
  // chat servers of tenants
  HOMESERVER_UNREACHABLE: retryable(503, 6, 'The chat server is not available'),
  // agents and hosts
  ENROLMENT_INVALID: entry(401, 4, 'The enrolment token is unknown, used or expired'),
  HOST_REVOKED: entry(401, 4, 'The host was revoked'),
  HOST_FROZEN: entry(401, 4, 'Two agents used the key of the host'),
  HOST_OFFLINE: retryable(503, 6, 'The host is offline'),
  CLOCK_SKEW: retryable(401, 6, 'The clocks differ'),
  PROTOCOL_VERSION: entry(409, 5, 'Agent and daemon have no common protocol version'),
  COMMAND_EXPIRED: entry(409, 5, 'The deadline of the command passed'),
  LEASE_LOST: entry(409, 5, 'The lease was lost to another owner'),
  // boxes
  BOX_HELD: entry(409, 5, 'The box is on hold by another operation'),
  BOX_NOT_MANAGED: entry(409, 5, 'The box is only observed'),
  BOX_UNHEALTHY: entry(409, 5, 'The box is not healthy'),
  COMPOSE_INVALID: entry(422, 5, 'The compose file cannot be used'),
  FOLDER_UNSAFE: entry(422, 5, 'Others can write to the project folder'),
  MANIFEST_INVALID: entry(400, 2, 'The manifest is not valid'),
  IMAGE_NOT_ALLOWED: entry(403, 4, 'The image is not on the allow-list of this host'),
  IMAGE_NOT_FOUND: entry(422, 5, 'The registry has no such image'),
  PULL_FAILED: retryable(502, 6, 'The image could not be pulled'),
  REGISTRY_UNAVAILABLE: retryable(503, 6, 'The registry does not answer'),
  DIGEST_MISMATCH: entry(409, 5, 'The image digest differs from the planned one'),
  DISK_FULL: retryable(507, 6, 'The disk is full'),
  BACKUP_INVALID: entry(500, 1, 'The backup is damaged or incomplete'),
  BACKUP_KEY_INVALID: entry(503, 6, 'The backup key is missing or wrong'),
  RESTIC_UNUSABLE: entry(503, 6, 'restic is missing or too old'),
  SNAPSHOT_FAILED: retryable(500, 1, 'The snapshot was not completed'),
  SNAPSHOT_STORE_UNAVAILABLE: retryable(503, 6, 'The snapshot store does not answer'),
  SNAPSHOT_STORE_LOST: entry(503, 6, 'The snapshot repository is gone'),
  PROBE_FAILED: entry(500, 1, 'The box failed its health probe'),
  UPDATE_FAILED: entry(500, 1, 'The update failed'),
  RESTORE_FAILED: entry(500, 1, 'The restore failed'),
  MEDIA_UNPROVEN: entry(500, 1, 'No media of the snapshot were compared'),
  DOCKER_UNAVAILABLE: retryable(503, 6, 'The container engine does not answer'),
  PREFLIGHT_REFUSED: entry(409, 5, 'The pre-flight refused the box'),
  NOT_RESTORABLE: entry(409, 5, 'The box could not be restored'),
  REINTRODUCES_CVE: entry(409, 5, 'It would reintroduce a vulnerability that an emergency fixed'),
  PORT_TAKEN: entry(409, 5, 'The port is in use'),
  // rollouts
  PLAN_REFUSED: entry(409, 5, 'The plan has refusals'),
  ROLLOUT_ACTIVE: entry(409, 5, 'Another rollout has not finished with these boxes'),
  PLAN_STALE: entry(409, 5, 'The plan is too old'),
  AUTH: entry(401, 4, 'The approval token is wrong'),
  // local programs
  CONFIG_INVALID: entry(500, 2, 'The settings are not valid'),
  DATABASE_NEWER: entry(500, 5, 'The database was written by a newer program'),
  DATABASE_UNRELEASED: entry(500, 5, 'The database was made before the first release'),
  SEALED_UNREADABLE: entry(500, 1, 'A sealed value cannot be opened'),
  AUDIT_BROKEN: entry(500, 1, 'The audit log failed verification'),
  UNREACHABLE: retryable(503, 6, 'The daemon does not answer'),
  USAGE: entry(400, 2, 'The command line is not valid'),
  CANCELLED: entry(400, 1, 'Cancelled before anything was changed'),
} as const satisfies Record<string, Entry>

export type ProblemCode = keyof typeof catalogue

/** The error of one request field. `path` is dotted: `targets.pro.synapse`. */
export type FieldReason = Readonly<{ path: string; reason: string }>

/** One violation: a sentence, or a rule with its place in a file or board. `path`: the elements that lead there. */
export type ProblemViolation =
  | string
  | Readonly<{
      code: string
      message: string
      file?: string
      line?: number
      column?: number
      element?: string
      path?: readonly string[]
    }>

/** Permissions that an update adds and removes. */
type PermissionChange = Readonly<{ added: readonly string[]; removed: readonly string[] }>

type Extras = Readonly<{
  permissions?: PermissionChange
  details?: readonly FieldReason[]
  violations?: readonly ProblemViolation[]
  retryAfterSeconds?: number
  /** False where a retry of a retryable code gets the same answer. */
  retryable?: boolean
  cause?: unknown
}>

/** The error body of spec 2.5, with the additions of a few codes. */
export type ProblemBody = Readonly<{
  code: string
  message: string
  retryable: boolean
  details?: readonly FieldReason[]
  violations?: readonly ProblemViolation[]
  added?: readonly string[]
  removed?: readonly string[]
}>

/** An expected failure. The message says what, which one, and what to do next; it never carries a secret. */
export class Problem extends Error {
  readonly code: ProblemCode
  readonly details?: readonly FieldReason[]
  readonly violations?: readonly ProblemViolation[]
  readonly retryAfterSeconds?: number
  readonly permissions?: PermissionChange
  readonly retryable: boolean

  constructor(code: ProblemCode, message: string, extras: Extras = {}) {
    super(message, extras.cause === undefined ? undefined : { cause: extras.cause })
    this.name = 'Problem'
    this.code = code
    this.retryable = extras.retryable ?? catalogue[code].retryable
    if (extras.details) this.details = extras.details
    if (extras.permissions) this.permissions = extras.permissions
    if (extras.violations) this.violations = extras.violations
    if (extras.retryAfterSeconds !== undefined) this.retryAfterSeconds = extras.retryAfterSeconds
  }

  get status(): number {
    return catalogue[this.code].status
  }

  get exit(): ExitCode {
    return catalogue[this.code].exit
  }

  toBody(): ProblemBody {
    return {
      code: this.code,
      message: this.message,
      retryable: this.retryable,
      ...(this.details ? { details: this.details } : {}),
      ...(this.violations ? { violations: this.violations } : {}),
      ...(this.permissions ?? {}),
    }
  }
}

export const problem = (code: ProblemCode, message: string, extras?: Extras): Problem => new Problem(code, message, extras)

export const isProblem = (error: unknown, code?: ProblemCode): error is Problem =>
  error instanceof Problem && (code === undefined || error.code === code)

/** Splits the message of a problem, `… fix: …`, into what failed and what to do next. */
export function splitFix(message: string): Readonly<{ what: string; fix: string | undefined }> {
  const [what = message, fix] = message.split(/\s*\bfix: /, 2)
  return { what, fix }
}

export const isProblemCode = (code: string): code is ProblemCode => Object.hasOwn(catalogue, code)
