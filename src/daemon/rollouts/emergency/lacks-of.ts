import { isProblem } from '../../../core/kit/index.ts'
import { type EmergencyLack, emergencyLacks } from '../../../core/rollouts/index.ts'
import type { RolloutsDeps } from '../deps.ts'

type Deps = Pick<RolloutsDeps, 'approvalTokenSha256' | 'assertSnapshotsConfigured' | 'hasRecoveryKey'>

/** The missing configuration of emergencies, which their creation would refuse. */
export const lacksOf = (deps: Deps): EmergencyLack[] =>
  emergencyLacks({ approvalToken: deps.approvalTokenSha256 !== undefined, backup: hasBackup(deps), recovery: deps.hasRecoveryKey })

function hasBackup({ assertSnapshotsConfigured }: Deps): boolean {
  try {
    assertSnapshotsConfigured()
    return true
  } catch (error) {
    if (isProblem(error, 'CONFIG')) return false
    throw error
  }
}
