import { Counter, Gauge, type Registry } from 'prom-client'

type Deps = Readonly<{ registry: Registry; held: () => number; isUp: () => boolean }>

/** `unchecked`: the store was away. `crowded`: nobody else could be made to wait. */
type Outcome = 'passed' | 'delayed' | 'refused' | 'crowded' | 'unchecked'

export type LimitsMetrics = Readonly<{ count(outcome: Outcome): void; refusedAddress(): void }>

/** What became of requests that count against a budget, and whether they are counted at all. */
export function limitsMetrics({ registry, held, isUp }: Deps): LimitsMetrics {
  const requests = new Counter({
    name: 'tenantry_budget_requests_total',
    help: 'Requests against budgets of tenants; unchecked were let through while the store did not answer',
    labelNames: ['outcome'],
    registers: [registry],
  })
  const series = Object.fromEntries(
    (['passed', 'delayed', 'refused', 'crowded', 'unchecked'] as const).map((outcome) => [outcome, requests.labels(outcome)]),
  ) as Record<Outcome, Counter.Internal>
  const addresses = new Counter({
    name: 'tenantry_address_refusals_total',
    help: 'Requests refused because their address sent too many',
    registers: [registry],
  })
  gauge(registry, 'tenantry_budget_store_up', 'Whether requests against budgets are counted (1) or let through (0)', () => (isUp() ? 1 : 0))
  gauge(registry, 'tenantry_requests_held', 'Requests that are made to wait right now', held)
  return { count: (outcome) => series[outcome].inc(), refusedAddress: () => addresses.inc() }
}

const gauge = (registry: Registry, name: string, help: string, value: () => number) =>
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(value())
    },
  })
