import { Counter, Gauge, type Registry } from 'prom-client'

type Deps = Readonly<{ registry: Registry; held: () => number; isUp: () => boolean }>

/** `unchecked`: the store was unavailable. `crowded`: the delay queue was full. */
type Outcome = 'passed' | 'delayed' | 'refused' | 'crowded' | 'unchecked'

export type LimitsMetrics = Readonly<{ count(outcome: Outcome): void; refusedAddress(): void; refusedShare(): void }>

/** Metrics of budget checks, refused addresses, delayed requests and store availability. */
export function limitsMetrics({ registry, held, isUp }: Deps): LimitsMetrics {
  const requests = new Counter({
    name: 'tenantry_budget_requests_total',
    help: 'Requests against tenant budgets by outcome; unchecked: the store was unavailable',
    labelNames: ['outcome'],
    registers: [registry],
  })
  const series = Object.fromEntries(
    (['passed', 'delayed', 'refused', 'crowded', 'unchecked'] as const).map((outcome) => [outcome, requests.labels(outcome)]),
  ) as Record<Outcome, Counter.Internal>
  const addresses = new Counter({
    name: 'tenantry_address_refusals_total',
    help: 'Requests refused by the limit per client address',
    registers: [registry],
  })
  const anonymous = new Counter({
    name: 'tenantry_anonymous_refusals_total',
    help: 'Requests and refusals without a login that were above the share of all addresses together',
    registers: [registry],
  })
  gauge(registry, {
    name: 'tenantry_budget_store_up',
    help: 'Whether requests against budgets are counted (1) or let through (0)',
    value: () => (isUp() ? 1 : 0),
  })
  gauge(registry, { name: 'tenantry_requests_held', help: 'Requests being delayed now', value: held })
  return { count: (outcome) => series[outcome].inc(), refusedAddress: () => addresses.inc(), refusedShare: () => anonymous.inc() }
}

const gauge = (registry: Registry, { name, help, value }: Readonly<{ name: string; help: string; value: () => number }>) =>
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(value())
    },
  })
