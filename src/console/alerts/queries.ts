import type { AlertStatus } from '../../core/alerts/index.ts'
import { api } from '../kit/index.ts'

export const openAlertsQuery = {
  queryKey: ['alerts', 'open'],
  queryFn: () => api.alerts.listAlerts({ query: { status: 'open', limit: 200 } }),
} as const

export const alertsQuery = (status: AlertStatus | undefined) =>
  ({
    queryKey: ['alerts', 'list', status ?? 'all'],
    queryFn: () => api.alerts.listAlerts({ query: { limit: 200, ...(status ? { status } : {}) } }),
  }) as const

export const channelsQuery = {
  queryKey: ['alerts', 'channels'],
  queryFn: () => api.alerts.listAlertChannels({}),
} as const

export const alertQuery = (id: number) =>
  ({ queryKey: ['alerts', 'one', id], queryFn: () => api.alerts.getAlert({ params: { id } }) }) as const
