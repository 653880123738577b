import { forbiddenPort } from './forbidden-port.ts'

/** The place of a span in its trace, as the header `traceparent` of W3C has it. */
export type SpanContext = Readonly<{ traceId: string; spanId: string; isSampled: boolean }>

const form = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/

/** Undefined for anything but a valid header: a caller may send any text. */
export function parseTraceparent(text: string | null | undefined): SpanContext | undefined {
  const [, traceId, spanId, flags = '00'] = form.exec(text ?? '') ?? []
  return traceId && spanId ? { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 } : undefined
}

export const formatTraceparent = ({ traceId, spanId, isSampled }: SpanContext): string =>
  `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`

/** By the id, so that every program decides alike. */
export const isSampledTrace = (traceId: string, ratio: number): boolean => Number.parseInt(traceId.slice(-8), 16) < ratio * 2 ** 32

/** The reason why the address of a collector is refused; undefined for a valid one. */
export function wrongCollector(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !['http:', 'https:'].includes(url.protocol))
    return 'must be the address of an OTLP/HTTP collector, such as http://127.0.0.1:4318'
  if (url.username + url.password + url.search + url.hash !== '') return 'must contain neither a user name nor a query'
  return forbiddenPort(url)
}
