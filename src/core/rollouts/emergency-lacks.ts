// Without a schema: the overview of the web console loads these alone.

/** Configuration that a daemon may lack for emergencies. */
export const emergencyLackNames = ['approval_token', 'backup', 'recovery'] as const
export type EmergencyLack = (typeof emergencyLackNames)[number]

type Configured = Readonly<{ approvalToken: boolean; backup: boolean; recovery: boolean }>

export const emergencyLacks = ({ approvalToken, backup, recovery }: Configured): EmergencyLack[] => [
  ...(approvalToken ? [] : (['approval_token'] as const)),
  ...(backup ? [] : (['backup'] as const)),
  ...(recovery ? [] : (['recovery'] as const)),
]

const names = {
  approval_token: 'no approval token',
  backup: 'no backup key or snapshot store',
  recovery: 'no separate recovery key',
} as const satisfies Record<EmergencyLack, string>

const fixes = {
  approval_token: 'create one with `tenantryd approval-token` and set its hash as printed',
  backup: 'set TENANTRY_BACKUP_KEY and TENANTRY_SNAPSHOT_STORE (`tenantryd doctor` names what is missing)',
  recovery: 'create one with `tenantryd recovery-key` and set it as printed',
} as const satisfies Record<EmergencyLack, string>

/** Without a recovery key an emergency can be created. */
export const preventsEmergency = (lacks: readonly EmergencyLack[]): boolean => lacks.some((lack) => lack !== 'recovery')

/** `Emergencies cannot be created: no approval token`; undefined where nothing is missing. */
export function emergencyLackText(lacks: readonly EmergencyLack[]): string | undefined {
  if (lacks.length === 0) return undefined
  const missing = lacks.map((lack) => names[lack]).join(', ')
  return preventsEmergency(lacks) ? `Emergencies cannot be created: ${missing}` : `Emergencies can be created, but there is ${missing}`
}

export const emergencyLackFix = (lacks: readonly EmergencyLack[]): string =>
  `${lacks.map((lack) => fixes[lack]).join('; ')}; then restart the daemon`
