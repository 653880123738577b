import { Gauge, type Registry } from 'prom-client'
import { AlertSeverity, DeliveryStatus } from '../../core/alerts/index.ts'
import type { Db } from '../db/index.ts'

type MetricsDeps = Readonly<{ db: Db; registry: Registry }>
type Counted = readonly Readonly<{ label: string; count: number | string | bigint }>[]

/** Open alerts and undelivered messages. Monitor the second from outside: it counts alerts that reached no operator. */
export function alertMetrics({ db, registry }: MetricsDeps): void {
  const counted = db.fn.countAll().as('count')
  const gauge = (name: string, help: string, label: string, labels: readonly string[], count: () => Promise<Counted>) =>
    new Gauge({
      name,
      help,
      labelNames: [label],
      registers: [registry],
      async collect() {
        const found = await count()
        for (const one of labels) this.set({ [label]: one }, Number(found.find((row) => row.label === one)?.count ?? 0))
      },
    })

  gauge('tenantry_alerts_open', 'Open alerts, not acknowledged', 'severity', AlertSeverity.options, () =>
    db.selectFrom('alerts').select(['severity as label', counted]).where('status', '=', 'open').groupBy('severity').execute(),
  )
  gauge('tenantry_alert_deliveries', 'Alert messages not sent; dead: failed on the last attempt', 'status', unsent, () =>
    db.selectFrom('alert_deliveries').select(['status as label', counted]).where('status', 'in', unsent).groupBy('status').execute(),
  )
}

const unsent = DeliveryStatus.exclude(['sent']).options
