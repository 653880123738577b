import type { Secret, TenantId } from '../kit/index.ts'

/**
 * The request got no answer; a retry may succeed. `fenced`: the box is being updated and takes no writes. `limited`: rate limited, or closed
 * for all users. `unreachable`: everything else, including a tenant without a box.
 */
export type Fault = Readonly<{
  kind: 'fenced' | 'limited' | 'unreachable'
  retryAfterSeconds: number
  reason: string
  /** Where a repeated call fails in the same way. */
  fix?: string
}>

/** Only `refused` counts as a failed login: wrong password, unknown or deactivated user. The server does not distinguish these. */
export type LoggedIn =
  | Readonly<{ kind: 'ok'; userId: string; deviceId: string; accessToken: Secret }>
  | Readonly<{ kind: 'refused' | 'locked' | 'deactivated' }>
  | Fault

export type WhoIs =
  | Readonly<{ kind: 'ok'; userId: string; deviceId: string | null }>
  | Readonly<{ kind: 'unknown_token' | 'locked' | 'deactivated' }>
  | Fault

/** `exists`: the account is unchanged, including password and devices. `refused`: the server rejects the name or password. */
export type Created = Readonly<{ kind: 'created' | 'exists' }> | Readonly<{ kind: 'refused'; reason: string }> | Fault

/** `absent`: the chat server has no such user. */
export type Done = Readonly<{ kind: 'ok' | 'absent' }> | Readonly<{ kind: 'refused'; reason: string }> | Fault

export type NewChatUser = Readonly<{ localpart: string; password: Secret; displayName?: string | null | undefined }>

/** A request of the platform's application service, exempt from rate limits. */
export type ServiceRequest = Readonly<{
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Begins with `/_matrix/` or `/_synapse/`. The caller encodes ids. */
  path: string
  body?: unknown
  /** The token in place of that of the application service: the box's administrator's, or that of the bot's device. */
  by?: 'admin' | 'bot'
}>

export type ServiceAnswer =
  | Readonly<{ kind: 'ok'; json: Readonly<Record<string, unknown>> }>
  | Readonly<{ kind: 'refused'; status: number; errcode: string; reason: string }>
  | Fault

/** `too_large`: the answer has more than 1 MB. */
export type ReadAnswer = ServiceAnswer | Readonly<{ kind: 'too_large' }>

/** One tenant's chat server. Server errors are results, not exceptions. Each call has a time and a size limit and follows no redirect. */
export type Homeserver = Readonly<{
  /** `signal` aborts the wait for a free connection, not a running request. */
  login(ask: Readonly<{ localpart: string; password: Secret; deviceName: string; signal?: AbortSignal | undefined }>): Promise<LoggedIn>
  /** Ends one chat session; `ok` also when it had ended before. */
  logout(token: Secret): Promise<Done>
  whoami(token: Secret): Promise<WhoIs>
  /** Keeps sessions and devices unless `logOutDevices` is set. */
  changePassword(ask: Readonly<{ localpart: string; password: Secret; logOutDevices?: boolean | undefined }>): Promise<Done>
  createUser(user: NewChatUser): Promise<Created>
  /** A locked user can neither log in nor use a chat token. */
  setLocked(ask: Readonly<{ localpart: string; locked: boolean }>): Promise<Done>
  /** Deactivates the account for good and asks the servers that have its messages to hide them from new members; `ok` also when it was erased before. */
  erase(ask: Readonly<{ localpart: string }>): Promise<Done>
  setDisplayName(ask: Readonly<{ localpart: string; displayName: string | null }>): Promise<Done>
  /** For rooms and spaces. */
  send(request: ServiceRequest): Promise<ServiceAnswer>
  /**
   * Reads as the box's administrator, on a connection of its own that waits up to 45 s for the answer; for messages of rooms. An aborted read is
   * a fault.
   */
  read(request: Readonly<{ path: string; signal: AbortSignal }>): Promise<ReadAnswer>
}>

/** The chat server of a tenant's live box. Each call looks up the box again. */
export type Homeservers = Readonly<{ of(tenantId: TenantId): Homeserver }>
