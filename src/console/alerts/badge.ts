import { useQuery } from '@tanstack/react-query'
import { plural } from '../../core/kit/index.ts'
import type { Badge } from '../kit/index.ts'
import { openAlertsQuery } from './queries.ts'

/** Open alerts; red where one is critical. */
export function useAlertBadge(): Badge | undefined {
  const alerts = useQuery(openAlertsQuery).data?.alerts
  if (!alerts) return undefined
  const isCritical = alerts.some(({ severity }) => severity === 'critical')
  return { count: alerts.length, label: plural(alerts.length, 'open alert'), tone: isCritical ? 'failed' : 'warning' }
}
