import type { Secret, TenantId } from '../kit/index.ts'

/**
 * Nothing was said about the question, and asking again later may help. `fenced`: the box is being updated and takes no writes;
 * `limited`: the server wants fewer requests, or serves nobody at present; `unreachable`: all else, a tenant without a box among it.
 */
export type Fault = Readonly<{ kind: 'fenced' | 'limited' | 'unreachable'; retryAfterSeconds: number; reason: string }>

/** `refused` is the only one that counts as a failed login: wrong password, unknown or deactivated user, which the server keeps alike. */
export type LoggedIn =
  | Readonly<{ kind: 'ok'; userId: string; deviceId: string; accessToken: Secret }>
  | Readonly<{ kind: 'refused' | 'locked' | 'deactivated' }>
  | Fault

export type WhoIs =
  | Readonly<{ kind: 'ok'; userId: string; deviceId: string | null }>
  | Readonly<{ kind: 'unknown_token' | 'locked' | 'deactivated' }>
  | Fault

/** `exists` left the account as it was, password and devices. `refused`: the server does not take that name or password. */
export type Created = Readonly<{ kind: 'created' | 'exists' }> | Readonly<{ kind: 'refused'; reason: string }> | Fault

/** `absent`: the chat server knows no such user. */
export type Done = Readonly<{ kind: 'ok' | 'absent' }> | Readonly<{ kind: 'refused'; reason: string }> | Fault

export type NewChatUser = Readonly<{ localpart: string; password: Secret; displayName?: string | null | undefined }>

/** A request of the platform's application service, free of rate limits; `as` names whom it acts for: itself, or one of its own users. */
export type ServiceRequest = Readonly<{
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** With its leading `/_matrix/` or `/_synapse/`; ids in it are encoded by the caller. */
  path: string
  body?: unknown
  as?: string
  /** With the token of the box's administrator, not the application service's. */
  admin?: boolean
}>

export type ServiceAnswer =
  | Readonly<{ kind: 'ok'; json: Readonly<Record<string, unknown>> }>
  | Readonly<{ kind: 'refused'; status: number; errcode: string; reason: string }>
  | Fault

/** One tenant's chat server. No call throws for what the server says; each has a time and a size limit and follows no redirect. */
export type Homeserver = Readonly<{
  /** `signal` ends the waiting for a turn, not what was begun. */
  login(ask: Readonly<{ localpart: string; password: Secret; deviceName: string; signal?: AbortSignal | undefined }>): Promise<LoggedIn>
  /** Ends one chat session; also ok when it had ended. */
  logout(token: Secret): Promise<Done>
  whoami(token: Secret): Promise<WhoIs>
  /** Leaves sessions and devices as they are, unless they are to be logged out. */
  changePassword(ask: Readonly<{ localpart: string; password: Secret; logOutDevices?: boolean | undefined }>): Promise<Done>
  createUser(user: NewChatUser): Promise<Created>
  /** Locked: no login and no use of any chat token until it is unlocked. */
  setLocked(ask: Readonly<{ localpart: string; locked: boolean }>): Promise<Done>
  setDisplayName(ask: Readonly<{ localpart: string; displayName: string | null }>): Promise<Done>
  /** For rooms and spaces. */
  send(request: ServiceRequest): Promise<ServiceAnswer>
}>

/** The chat server of a tenant's live box; which one that is is looked up at each call. */
export type Homeservers = Readonly<{ of(tenantId: TenantId): Homeserver }>
