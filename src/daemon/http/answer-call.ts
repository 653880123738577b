import type { Request, RequestHandler, Response } from 'express'
import { boundOf, costOf, type EndpointShape, isSchema, isStream } from '../../core/contract/index.ts'
import { type Actor, type Clock, isProblem } from '../../core/kit/index.ts'
import type { Tracing } from '../../node/index.ts'
import { type Authenticators, identify } from './authenticate-call.ts'
import type { CallLimits } from './call-limits.ts'
import { type KeepAlive, sendStream } from './event-stream.ts'
import { IncomingCall } from './incoming-call.ts'
import { type RawResponse, sendRaw } from './raw.ts'
import { revalidateEveryMs, revalidateUntilEnd } from './revalidate.ts'
import { type FileBody, paceCheck, sendFile } from './send-file.ts'
import type { Served } from './serve.ts'
import { sendTagged, type Tagged } from './tagged.ts'
import { traceCall } from './trace-call.ts'
import { validateAnswer } from './validation.ts'
import { callerOf, type WorkPlaces } from './work-places.ts'

export type EndpointDeps = Readonly<{
  authenticate: Authenticators
  clock: Clock
  /** Aborts when the daemon drains, so that streaming clients reconnect to another replica. */
  draining: AbortSignal
  limits?: CallLimits
  tracing?: Tracing | undefined
  /** Validates every response against its contract (in tests). */
  validateAnswers?: boolean
}>

export type AnswerDeps = EndpointDeps & Readonly<{ keepAlives: KeepAlive; places: WorkPlaces }>

/** Runs the handler in a place of the endpoint's class of work, and answers. */
export function answerCall(served: Served, deps: AnswerDeps): RequestHandler {
  const { endpoint } = served
  const cost = costOf(endpoint)
  // The body of an upload arrives as slowly as its sender likes, so its work begins after that.
  const isLate = endpoint.multipart !== undefined && boundOf(endpoint).parallel !== undefined
  // An answer without a reader stays in memory. A place of few is free before: a slow reader would keep others out.
  const isHeld = boundOf(endpoint).parallel === undefined
  return async (request, response) => {
    const actor: Actor | undefined = response.locals.actor
    let free: (() => void) | undefined
    const enter = async () => {
      free = await deps.places.enter(cost, callerOf(actor, request.ip ?? 'unknown'), () => call.signal)
    }
    const identifyAgain = () => identify(endpoint.auth, request, deps.authenticate)
    const received = () => identifyAgain().then(enter)
    const call = new IncomingCall({
      ...{ endpoint, request, response, actor, draining: deps.draining },
      revalidate: isLate ? received : identifyAgain,
    })
    try {
      if (!isLate) await enter()
      await traceCall(deps.tracing, { endpoint, request, response }, () =>
        runCall(served, { ...deps, request, response, call, revalidate: identifyAgain }),
      )
    } finally {
      if (free && isHeld && !response.closed) response.once('close', free)
      else free?.()
    }
  }
}

type Running = AnswerDeps &
  Readonly<{ request: Request; response: Response; call: IncomingCall; revalidate: () => Promise<Actor | undefined> }>

async function runCall({ endpoint, handler }: Served, { request, response, call, revalidate, ...deps }: Running): Promise<void> {
  const showLimits = async () => {
    if (call.tenantId !== undefined) await deps.limits?.show(response, call.tenantId)
  }
  let result: unknown
  try {
    result = await handler(call as never)
  } catch (error) {
    // A failed login must not reveal that the tenant exists.
    if (!isProblem(error, 'LOGIN_FAILED')) await showLimits()
    throw error
  }
  await showLimits()
  if (!isSchema(endpoint.returns) && endpoint.returns.kind === 'file') {
    const file = result as FileBody
    return sendFile({ request, response }, file, (download) => {
      const [checkFile, checkPace] = [file.accessCheck?.(download.signal), paceCheck(revalidateEveryMs, download.sent)]
      return revalidateUntilEnd(deps.clock, () => revalidate().then(checkFile).then(checkPace), download)
    })
  }
  if (endpoint.tagged) return sendTagged(request, response, checked(endpoint, result as Tagged, deps))
  // User streams check their access themselves: thousands of timers would be too expensive.
  // An answer that is written piece by piece, such as one of another server, ends with the access of its caller.
  if (typeof result === 'function' || (endpoint.auth.kind === 'admin' && isStream(endpoint)))
    void revalidateUntilEnd(deps.clock, revalidate, call)
  await answer({ endpoint, result, call }, response, deps)
}

function checked({ returns }: EndpointShape, tagged: Tagged, { validateAnswers = false }: EndpointDeps): Tagged {
  if (validateAnswers && isSchema(returns)) validateAnswer(returns, JSON.parse(tagged.text))
  return tagged
}

/** Private responses must not be cached by proxies or browsers. */
const isPrivate = ({ auth, method }: EndpointShape): boolean => auth.kind !== 'none' || method !== 'GET'

type Answer = Readonly<{ endpoint: EndpointShape; result: unknown; call: IncomingCall }>

async function answer(
  { endpoint, result, call }: Answer,
  response: Response,
  { validateAnswers: validate = false, keepAlives }: AnswerDeps,
): Promise<void> {
  const { returns } = endpoint
  if (isSchema(returns)) {
    if (isPrivate(endpoint)) response.setHeader('cache-control', 'no-store')
    response.status(endpoint.status ?? 200).json(validate ? validateAnswer(returns, result) : result)
  } else if (returns.kind === 'empty') {
    response.status(endpoint.status ?? 204).end()
  } else if (returns.kind === 'raw') {
    await sendRaw(response, result as RawResponse)
  } else if (returns.kind === 'text') {
    response
      .status(endpoint.status ?? 200)
      .type(returns.contentType)
      // The address of a page may hold a token.
      .set('cache-control', 'no-store')
      .send(result as string)
  } else {
    await sendStream(response, result as never, { keepAlives, signal: call.signal })
  }
}
