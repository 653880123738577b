import { collectDefaultMetrics, Histogram, Registry } from 'prom-client'

export type HttpMetrics = Readonly<{
  registry: Registry
  observe(request: Readonly<{ method: string; route: string; status: number; ms: number }>): void
}>

/** Counts and durations of requests by route. Features add their metrics to the same registry. */
export function makeMetrics(): HttpMetrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'tenantry_' })
  const seconds = new Histogram({
    name: 'tenantry_http_request_seconds',
    help: 'Duration of HTTP requests by method, route and status',
    labelNames: ['method', 'route', 'status'],
    registers: [registry],
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 30],
  })
  // The lookup of a series by labels costs more than the observation.
  const series = new Map<string, { observe(value: number): void }>()
  return {
    registry,
    observe: ({ method, route, status, ms }) => {
      const key = `${method} ${route} ${status}`
      const one = series.get(key) ?? seconds.labels(method, route, String(status))
      series.set(key, one)
      one.observe(ms / 1000)
    },
  }
}
