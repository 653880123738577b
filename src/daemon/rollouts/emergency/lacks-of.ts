import { isProblem } from '../../../core/kit/index.ts'
import { type EmergencyLack, emergencyLacks } from '../../../core/rollouts/index.ts'
import type { RolloutsDeps } from '../deps.ts'

type Deps = Pick<RolloutsDeps, 'approvalTokenSha256' | 'assertSnapshotsConfigured' | 'hasRecoveryKey'>

/** What this daemon lacks for emergencies; what the creation of one would refuse, before anyone enters it. */
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
