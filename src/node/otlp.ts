import { randomBytes } from 'node:crypto'
import { type Clock, formatTraceparent, isSampledTrace, parseTraceparent } from '../core/kit/index.ts'
import { settlingFetch } from './fetch.ts'
import type { NewSpan, Span, Tracing } from './tracing.ts'

type Options = Readonly<{
  /** The base address of the collector, without `/v1/traces`. */
  endpoint: string
  /** Part of the new traces that is sent; a trace that was begun elsewhere is sent or not as a whole. */
  sampleRatio?: number
  service: string
  version: string
  /** The host of an agent. */
  host?: string
  clock: Clock
  /** Called once when the collector stops to accept spans, and once when it does again. */
  onChange: (message: string) => void
  fetch?: typeof globalThis.fetch
}>

/** Spans beyond this are dropped, so that a collector that is away costs no more memory. */
const maxQueued = 2048
const maxPerCall = 512
const everyMs = 2000
const callTimeoutMs = 5000
const lastCallMs = 1000

const kinds = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 } as const

/** Sends spans as OTLP/JSON over HTTP. It never throws, and no caller waits for it. */
export function openTracing({
  endpoint,
  sampleRatio = 1,
  service,
  version,
  host,
  clock,
  onChange,
  fetch = settlingFetch,
}: Options): Tracing {
  const url = `${endpoint.replace(/\/+$/, '')}/v1/traces`
  const resource = {
    attributes: attributesOf({ 'service.name': service, 'service.version': version, ...(host ? { 'host.name': host } : {}) }),
  }
  let queue: object[] = []
  let timer: NodeJS.Timeout | undefined
  let sending: Promise<void> = Promise.resolve()
  let isAway = false

  const send = async (timeoutMs: number) => {
    const spans = queue.slice(0, maxPerCall)
    queue = queue.slice(maxPerCall)
    const body = JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'tenantry' }, spans }] }] })
    const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body, redirect: 'manual' } as const
    const failure = await fetch(url, { ...request, signal: AbortSignal.timeout(timeoutMs) }).then(
      async (response) => {
        await response.body?.cancel().catch(() => undefined)
        return response.ok ? undefined : `it answered ${response.status}`
      },
      (error: Error) => error.message,
    )
    if (failure !== undefined && !isAway) onChange(`traces are dropped: ${url} does not accept them (${failure})`)
    if (failure === undefined && isAway) onChange('traces are sent again')
    isAway = failure !== undefined
  }
  const flush = () => {
    timer = undefined
    sending = sending.then(async () => {
      while (queue.length > 0) await send(callTimeoutMs)
    })
  }
  const add = (span: object) => {
    if (queue.length < maxQueued) queue.push(span)
    timer ??= setTimeout(flush, everyMs).unref()
  }
  return {
    start: (span) => startSpan({ clock, sampleRatio, add }, span),
    close: async () => {
      clearTimeout(timer)
      const rest = sending.then(async () => {
        while (queue.length > 0) {
          await send(lastCallMs)
          if (isAway) queue = []
        }
      })
      await Promise.race([rest, clock.sleep(lastCallMs)])
      queue = []
    },
  }
}

type Starting = Readonly<{ clock: Clock; sampleRatio: number; add(span: object): void }>

function startSpan({ clock, sampleRatio, add }: Starting, { name, kind, parent, startedAt, attributes = {} }: NewSpan): Span {
  const above = parseTraceparent(parent)
  const traceId = above?.traceId ?? randomBytes(16).toString('hex')
  const isSampled = above?.isSampled ?? isSampledTrace(traceId, sampleRatio)
  const spanId = randomBytes(8).toString('hex')
  const startMs = startedAt === undefined ? clock.now().getTime() : Date.parse(startedAt)
  let all = attributes
  let failure: string | undefined
  return {
    traceparent: formatTraceparent({ traceId, spanId, isSampled }),
    set: (more) => {
      all = { ...all, ...more }
    },
    fail: (code) => {
      failure = code
    },
    end: () => {
      if (!isSampled) return
      const endMs = Math.max(startMs, clock.now().getTime())
      add({
        ...{ traceId, spanId, name, kind: kinds[kind] },
        ...(above ? { parentSpanId: above.spanId } : {}),
        ...{ startTimeUnixNano: nanoseconds(startMs), endTimeUnixNano: nanoseconds(endMs) },
        attributes: attributesOf(failure === undefined ? all : { ...all, 'error.type': failure }),
        status: failure === undefined ? {} : { code: 2 },
      })
    },
  }
}

const nanoseconds = (ms: number): string => `${ms}000000`

/** Longer texts are cut. */
const maxText = 200

const attributesOf = (attributes: Readonly<Record<string, string | number>>) =>
  Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value.slice(0, maxText) },
  }))
