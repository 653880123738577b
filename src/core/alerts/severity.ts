import type { AlertSeverity } from './alert.ts'

export const bySeverity = ['critical', 'warning', 'info'] as const satisfies readonly AlertSeverity[]

type Severe = Readonly<{ severity: AlertSeverity }>

/** Sorts alerts: what cuts users off comes first, also where only the first ones are shown. */
export const severestFirst = (a: Severe, b: Severe): number => bySeverity.indexOf(a.severity) - bySeverity.indexOf(b.severity)
