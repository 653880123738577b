import type { z } from 'zod'
import type {
  AdminActor,
  AgentActor,
  AutomationActor,
  Capability,
  DeveloperActor,
  PlatformPrincipal,
  ProblemCode,
  TokenActor,
  VendorActor,
} from '../kit/index.ts'
import { type Bound, type Cost, costs } from './cost.ts'

/** Admin roles from least to most; each may do all that the ones before it may. */
export const adminRoles = ['viewer', 'reviewer', 'operator', 'admin'] as const
export type AdminRole = (typeof adminRoles)[number]

export const roleAtLeast = (role: AdminRole, lowest: AdminRole): boolean => adminRoles.indexOf(role) >= adminRoles.indexOf(lowest)

/**
 * Permitted callers: everyone, an admin of at least a role (`person`: no API tokens), an agent, a user of a tenant, optionally with a
 * capability or as the developer of modules that `X-Developer-Id` names (`orAdmin` also permits a person who is an admin of at least that role), an automation tool in the tenant that the call names, or a vendor of the marketplace by its session. `setup` also permits a session that must still change its password or set up TOTP, of an admin or a user. `reauthenticated`: the
 * session has given password and code within the last ten minutes.
 */
export type Auth =
  | Readonly<{ kind: 'none' }>
  | Readonly<{ kind: 'admin'; role: AdminRole; person: boolean; setup?: boolean; reauthenticated?: true }>
  | Readonly<{ kind: 'agent' }>
  | Readonly<{ kind: 'platform'; capability?: Capability; developer?: true; orAdmin?: AdminRole; setup?: true }>
  | Readonly<{ kind: 'automation' }>
  | Readonly<{ kind: 'vendor' }>

/** The conditions of an endpoint for its caller. */
export type AdminAccess = Partial<Pick<Extract<Auth, { kind: 'admin' }>, 'role' | 'setup' | 'reauthenticated'>>

export const open = { kind: 'none' } as const satisfies Auth
export const agent = { kind: 'agent' } as const satisfies Auth
/** An automation tool by its key. A GET names the tenant in its query, any other method in its body. */
export const automation = { kind: 'automation' } as const satisfies Auth
/** A vendor of the marketplace, by the token of its session. */
export const vendor = { kind: 'vendor' } as const satisfies Auth
export const admin = (role: AdminRole) => ({ kind: 'admin', role, person: false }) as const satisfies Auth
/** Only a person who logged in, never an API token: accounts, tokens, hosts. */
export const adminPerson = (role: AdminRole) => ({ kind: 'admin', role, person: true }) as const satisfies Auth
/** A person who has just given password and code: what gives somebody a credential or a role, so that a session left open does not. */
export const adminReauthenticated = (role: AdminRole) =>
  ({ kind: 'admin', role, person: true, reauthenticated: true }) as const satisfies Auth
/** Any person, also one whose session is not set up in full: what setting it up needs. */
export const adminSetup = { kind: 'admin', role: 'viewer', person: true, setup: true } as const satisfies Auth

/** A user of a tenant by platform token; with a capability only those whose roles grant it. */
export const platform = (capability?: Capability) =>
  ({ kind: 'platform', ...(capability ? { capability } : {}) }) as Readonly<{ kind: 'platform'; capability?: Capability }>

/** Any user, also one that must still replace an initial password: what replacing it needs. */
export const platformSetup = { kind: 'platform', setup: true } as const satisfies Auth

/** A user of a tenant whose developer account the header `X-Developer-Id` names. */
export const developer = { kind: 'platform', developer: true } as const satisfies Auth

export const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
type Method = (typeof methods)[number]

/** Responses other than JSON: empty (204), event stream, text such as metrics, or a file. */
export type StreamAnswer<Event extends z.ZodType = z.ZodType> = Readonly<{ kind: 'sse'; event: Event }>
export type EmptyAnswer = Readonly<{ kind: 'empty' }>
export type TextAnswer = Readonly<{ kind: 'text'; contentType: string }>
export type FileAnswer = Readonly<{ kind: 'file' }>
/** Status, headers and body as the handler makes them; it may also write the response itself. */
export type RawAnswer = Readonly<{ kind: 'raw' }>
export type Answer = z.ZodType | EmptyAnswer | StreamAnswer | TextAnswer | FileAnswer | RawAnswer

export const empty: EmptyAnswer = { kind: 'empty' }
export const text = (contentType = 'text/plain; charset=utf-8'): TextAnswer => ({ kind: 'text', contentType })
export const sse = <Event extends z.ZodType>(event: Event): StreamAnswer<Event> => ({ kind: 'sse', event })
/** Streamed, with a tag that holds as long as the bytes do; parts of it can be asked for. */
export const file: FileAnswer = { kind: 'file' }
/** The handler reads the unread request itself (`call.raw`). */
export const raw: RawAnswer = { kind: 'raw' }

/** One file with text parts, as `multipart/form-data`. It is streamed, so text parts may come before or after the file. */
export type Multipart<Fields extends z.ZodType = z.ZodType> = Readonly<{
  /** Name of the part that is the file. */
  part: string
  maxBytes: number
  /** An object of the text parts by name. */
  fields: Fields
  /** Bytes of one text part; the default is 16 KiB. */
  fieldBytes?: number
}>

export type EndpointShape = Readonly<{
  method: Method
  /** Express form: `/api/admin/v1/hosts/:id`. */
  path: string
  /** Every method; documents and clients use `method`. */
  anyMethod?: true
  /** Every path below `path` too. The rest arrives as it was sent, not decoded. */
  rest?: true
  auth: Auth
  /** The audit action of a change, or one of several. Every method but GET has one; a test fails without. */
  audit?: string | readonly string[] | Readonly<{ none: string }>
  /** Class of work, which has a bound (`costs`); the default is by method and answer. */
  cost?: Cost
  /** Its answer may take minutes, so callers wait for it. */
  takesLong?: true
  params?: z.ZodType
  query?: z.ZodType
  /** A JSON body. An endpoint without one refuses nothing and reads nothing. */
  body?: z.ZodType
  /** Bytes of body accepted; the default is 256 KiB. */
  bodyLimit?: number
  /** The handler reads the body itself (`call.raw`), byte by byte as it was signed, and verifies the signature: it identifies the caller. */
  unread?: true
  /** A file instead of a JSON body. */
  multipart?: Multipart
  returns: Answer
  /** Requests per second from one address (a burst of twice that); for what a stranger may try: logins, enrolments. */
  perAddress?: number
  /** The JSON answer carries a strong `ETag`; `If-None-Match` asks whether it still holds, and 304 says that it does. */
  tagged?: true
  /** Reads the header `Idempotency-Key`. Calls of automation tools that change something always do. */
  idempotent?: true
  /** Status of success; 200, or 204 for `empty`. */
  status?: number
  /** Codes beside those that any endpoint may raise. */
  problems?: readonly ProblemCode[]
  summary: string
  /** Section of the service specification; absent for what goes beyond it. */
  spec?: string
}>

/** Declares an endpoint once. Validation, mounting, OpenAPI and the client are made from it. */
export const endpoint = <const Shape extends EndpointShape>(shape: Shape): Shape => shape

/** A feature's endpoints by name; the names are those of the client's functions. */
export type Contract = Readonly<Record<string, EndpointShape>>

export const isSchema = (answer: Answer): answer is z.ZodType => 'safeParse' in answer

export const isStream = ({ returns }: EndpointShape): boolean => !isSchema(returns) && returns.kind === 'sse'

type Parsed<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined
type Given<Schema> = Schema extends z.ZodType ? z.input<Schema> : undefined

/** The actor after the endpoint's `auth`. */
export type ActorOf<A extends Auth> = A extends { kind: 'admin'; person: true }
  ? AdminActor
  : A extends { kind: 'admin' }
    ? AdminActor | TokenActor
    : A extends { kind: 'agent' }
      ? AgentActor
      : A extends { kind: 'platform'; developer: true }
        ? DeveloperActor
        : A extends { kind: 'platform'; orAdmin: AdminRole }
          ? PlatformPrincipal | AdminActor
          : A extends { kind: 'platform' }
            ? PlatformPrincipal
            : A extends { kind: 'automation' }
              ? AutomationActor
              : A extends { kind: 'vendor' }
                ? VendorActor
                : undefined

/** Validated input of a handler. */
export type RequestOf<E extends EndpointShape> = Readonly<{
  params: Parsed<E['params']>
  query: Parsed<E['query']>
  body: Parsed<E['body']>
}>

/** A file sent by a client; `fields` are its text parts. */
type GivenUpload<M> =
  M extends Multipart<infer Fields> ? Readonly<{ content: Blob; fileName: string; fields?: z.input<Fields> }> : undefined

/** Input of a client call; only the parts that the endpoint declares. */
export type CallOf<E extends EndpointShape> = (E['params'] extends z.ZodType ? { params: Given<E['params']> } : { params?: undefined }) &
  (E['query'] extends z.ZodType ? { query?: Given<E['query']> } : { query?: undefined }) &
  (E['body'] extends z.ZodType
    ? undefined extends Given<E['body']>
      ? { body?: Given<E['body']> }
      : { body: Given<E['body']> }
    : { body?: undefined }) &
  (E['multipart'] extends Multipart ? { upload: GivenUpload<E['multipart']> } : { upload?: undefined })

/** The success response as sent. */
export type ResultOf<E extends EndpointShape> = E['returns'] extends z.ZodType
  ? z.output<E['returns']>
  : E['returns'] extends TextAnswer | RawAnswer
    ? string
    : E['returns'] extends FileAnswer
      ? ReadableStream<Uint8Array>
      : E['returns'] extends StreamAnswer<infer Event>
        ? AsyncIterable<StreamMessage<z.output<Event>>>
        : undefined

/** One message of an event stream; send `id` as `Last-Event-ID` to continue after it. */
export type StreamMessage<Data> = Readonly<{ id?: string; event: string; data: Data }>

/** The class of an endpoint: the one that it declares, else by its method and answer. */
export function costOf(endpoint: EndpointShape): Cost {
  const { cost, method, returns, multipart } = endpoint
  if (cost) return cost
  if (multipart) return 'transfer'
  if (isStream(endpoint)) return 'watch'
  if ('kind' in returns && returns.kind === 'file') return 'download'
  if ('kind' in returns && returns.kind === 'raw') return 'transfer'
  return method === 'GET' ? 'read' : 'write'
}

export const boundOf = (endpoint: EndpointShape): Bound => costs[costOf(endpoint)]
