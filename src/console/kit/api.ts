import { endpoints, type Slim } from 'virtual:endpoints'
import { backgroundHeader, consoleHeader } from '../../core/admin/index.ts'
import type { api as contracts } from '../../core/api.ts'
import { type AdminRole, type Client, type EndpointShape, makeClient, roleAtLeast } from '../../core/contract/index.ts'
import { isProblem, type Problem } from '../../core/kit/index.ts'
import { vendorHeader } from '../../core/marketplace/index.ts'
import { schoolHeader } from '../../core/school/index.ts'
import { callKeys } from './call-keys.ts'
import { learnServerTime } from './clock.ts'

export type Api = { readonly [Feature in keyof typeof contracts]: Client<(typeof contracts)[Feature]> }
type Options = Readonly<{ signal?: AbortSignal; lastEventId?: string; headers?: Record<string, string> }>

/** A problem with the id under which the daemon logged the request. */
export type ShownProblem = Problem & { requestId?: string }

const ended = new Set<() => void>()
/** Calls the listener when the session has ended: expired, revoked, or logged out elsewhere. */
export function onSessionEnd(listener: () => void): () => void {
  ended.add(listener)
  return () => ended.delete(listener)
}

let prove: (() => Promise<boolean>) | undefined
/** Registers the dialog that asks for the password again; false: it was closed. */
export function onProofRequired(ask: () => Promise<boolean>): () => void {
  prove = ask
  return () => {
    prove = undefined
  }
}

let lastActiveMs = 0
const attendedMs = 5 * 60_000
for (const type of ['pointerdown', 'keydown', 'wheel'] as const)
  globalThis.addEventListener?.(
    type,
    ({ timeStamp }) => {
      lastActiveMs = timeStamp
    },
    { capture: true, passive: true },
  )

/** A page without a click or key for minutes must not keep its session open. */
const isAttended = () => performance.now() - lastActiveMs < attendedMs

const withKey = callKeys({ newKey: () => crypto.randomUUID(), nowMs: () => performance.now() })

/** The kit is built into three pages, each with a cookie of its own. */
const pageHeader =
  import.meta.env.BASE_URL === '/school/' ? schoolHeader : import.meta.env.BASE_URL === '/vendor/' ? vendorHeader : consoleHeader

type Invoked = (call?: unknown, options?: Options) => Promise<unknown>

function caller(shape: EndpointShape) {
  return async (call?: unknown, options: Options = {}): Promise<unknown> => {
    let requestId: string | null = null
    const send: typeof fetch = async (input, init) => {
      const response = await fetch(input, { ...init, credentials: 'same-origin', cache: 'no-store' })
      requestId = response.headers.get('x-request-id')
      learnServerTime(response.headers.get('date'))
      return response
    }
    const headers = () => ({
      [pageHeader]: '1',
      ...(isAttended() && kindOf(shape) !== 'sse' ? {} : { [backgroundHeader]: '1' }),
    })
    const client = makeClient({ one: shape }, { baseUrl: location.origin, headers, fetch: send }).one as Invoked
    const keyed = (key: string) => client(call, { ...options, headers: { ...options.headers, 'idempotency-key': key } })
    const invoke = () => (shape.method === 'POST' ? withKey(`${shape.path} ${JSON.stringify(call)}`, keyed) : client(call, options))
    try {
      return await invoke().catch(async (error: unknown) => {
        if (isProblem(error, 'REAUTHENTICATION_REQUIRED') && (await prove?.())) return invoke()
        throw error
      })
    } catch (error) {
      if (isProblem(error, 'UNAUTHENTICATED') || isProblem(error, 'SETUP_REQUIRED')) for (const listener of ended) listener()
      if (isProblem(error) && requestId) (error as ShownProblem).requestId = requestId
      throw error
    }
  }
}

const kindOf = ({ returns }: EndpointShape) => (returns as { kind?: string }).kind

/** The daemon's API of this page by the cookie of its session: one function per endpoint, named as in the contract. */
export const api = Object.fromEntries(
  Object.entries(endpoints).map(([feature, contract]) => [
    feature,
    Object.fromEntries(Object.entries(contract).map(([name, shape]) => [name, caller(revived(shape))])),
  ]),
) as unknown as Api

/** The client asks whether an answer is a schema, and never parses with it. */
function revived([method, path, , returns = 'json', part]: Slim): EndpointShape {
  const answer = returns === 'json' ? { safeParse: true } : { kind: returns }
  return { method, path, returns: answer, ...(part ? { multipart: { part } } : {}) } as unknown as EndpointShape
}

/** The lowest role that may call an endpoint. */
export const roleFor = <F extends keyof Api>(feature: F, name: keyof Api[F]): AdminRole =>
  endpoints[feature]?.[name as string]?.[2] ?? 'admin'

export const maySee = (role: AdminRole, lowest: AdminRole): boolean => roleAtLeast(role, lowest)
