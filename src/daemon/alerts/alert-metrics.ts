import { Gauge, type Registry } from 'prom-client'
import { AlertSeverity, DeliveryStatus } from '../../core/alerts/index.ts'
import type { Db } from '../db/index.ts'

type MetricsDeps = Readonly<{ db: Db; registry: Registry }>
type Counted = readonly Readonly<{ label: string; count: number | string | bigint }>[]

type GaugeText = Readonly<{ name: string; help: string; label: string; labels: readonly string[] }>

/** Open alerts and undelivered messages. Monitor the second from outside: it counts alerts that reached no operator. */
export function alertMetrics({ db, registry }: MetricsDeps): void {
  const counted = db.fn.countAll().as('count')
  const gauge = ({ name, help, label, labels }: GaugeText, count: () => Promise<Counted>) =>
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

  gauge({ name: 'tenantry_alerts_open', help: 'Open alerts, not acknowledged', label: 'severity', labels: AlertSeverity.options }, () =>
    db.selectFrom('alerts').select(['severity as label', counted]).where('status', '=', 'open').groupBy('severity').execute(),
  )
  const help = 'Alert messages not sent; dead: failed on the last attempt'
  gauge({ name: 'tenantry_alert_deliveries', help, label: 'status', labels: unsent }, () =>
    db.selectFrom('alert_deliveries').select(['status as label', counted]).where('status', 'in', unsent).groupBy('status').execute(),
  )
}

const unsent = DeliveryStatus.exclude(['sent']).options
