import { Agent, type ClientRequest, type IncomingMessage } from 'node:http'
import { inspect } from 'node:util'
import type Docker from 'dockerode'
import pRetry from 'p-retry'

type AddRequest = (request: ClientRequest, ...connection: unknown[]) => void
const { addRequest } = Agent.prototype as unknown as { addRequest: AddRequest }

/**
 * Opens a connection for each request, because a restarted engine has closed the old ones. Fails a request whose response breaks off: the
 * client alone would wait for the rest without limit.
 */
class EngineAgent extends Agent {
  addRequest(request: ClientRequest, ...connection: unknown[]): void {
    const fail = (code: string, why: string) => Object.assign(new Error(why), { code })
    request.once('timeout', () => request.destroy(fail('ETIMEDOUT', 'no answer in time')))
    request.once('response', (response: IncomingMessage) => {
      response.once('aborted', () => request.emit('error', fail('ECONNRESET', 'the response broke off')))
    })
    addRequest.call(this, request, ...connection)
  }

  /** The client prints the agent of each request for its debug log; with all connections and what refers to them it takes seconds. */
  [inspect.custom](): string {
    return 'EngineAgent'
  }
}

export const engineAgent = (): Agent => new EngineAgent({ keepAlive: false })

/** With a first pause of 200 ms it is 6 s in all: a restart of the engine, and not too long for one that is not there. */
const backoff = { retries: 5, factor: 2 }

type Call = Readonly<{ method: string; path: string; abortSignal?: AbortSignal }>
type Dial = (call: Call, done: (error: unknown, answer: unknown) => void) => void

/** Sends a request again when the engine closed its connection and a second request does no harm. */
export function withRetries(docker: Docker, minTimeout: number): Docker {
  const modem = docker.modem as { dial: Dial }
  const dial = modem.dial.bind(modem)
  const send = (call: Call) =>
    new Promise<unknown>((resolve, reject) => dial(call, (error, answer) => (error ? reject(error) : resolve(answer))))
  modem.dial = (call, done) => {
    const { abortSignal } = call
    const shouldRetry = ({ error }: { error: Error }) => abortSignal?.aborted !== true && isHarmless(call, error)
    pRetry(() => send(call), { ...backoff, minTimeout, shouldRetry, ...(abortSignal ? { signal: abortSignal } : {}) }).then(
      (answer) => done(null, answer),
      (error) => done(error, null),
    )
  }
  return docker
}

function isHarmless({ method, path }: Call, error: NodeJS.ErrnoException): boolean {
  if (error.syscall === 'connect') return neverSent.has(error.code ?? '')
  return cut.has(error.code ?? '') && (readOrRemoval.has(method) || repeatable.test(path))
}

const neverSent = new Set(['ECONNREFUSED', 'ENOENT', 'EAGAIN'])
const cut = new Set(['ECONNRESET', 'EPIPE'])
const readOrRemoval = new Set(['GET', 'HEAD', 'DELETE'])
/** A program that was created and is never started has no effect. */
const repeatable = /^\/(containers\/[^/]+\/(start|stop|exec)|images\/.+\/tag|volumes\/create)(\?|$)/
