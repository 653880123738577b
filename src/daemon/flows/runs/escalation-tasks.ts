import type { Tx } from '../../db/index.ts'
import { ensureTasks } from '../../tasks/index.ts'
import type { StepDeps } from './deps.ts'
import type { RunRecord } from './runs.repo.ts'

export type EscalationText = Readonly<{ title: string; assignedRole: string }>

type TaskText = Readonly<{ title: string; assignedRole: string | null; assigneeId?: string | null; dueAt: string | null }>

export const taskOf = ({ id, tenantId, spaceId }: RunRecord, text: TaskText) => ({ ...text, tenantId, runId: id, spaceId, createdBy: null })

/** Asks other roles to see to elements. The tasks end with the elements. Returns their ids. */
export async function createEscalationTasks(
  deps: StepDeps,
  tx: Tx,
  inputs: readonly Readonly<{ run: RunRecord; text: EscalationText }>[],
): Promise<string[]> {
  const tasks = inputs.map(({ run, text }) => taskOf(run, { ...text, title: text.title.slice(0, 200), dueAt: null }))
  return (await ensureTasks(deps, tx, tasks)).map(({ task }) => task.id)
}
