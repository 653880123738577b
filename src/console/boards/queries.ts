import type { BoardSummary } from '../../core/boards/index.ts'
import type { OperatorRun } from '../../core/runs/index.ts'
import { api, type Tone } from '../kit/index.ts'

export const boardTones = { draft: 'waiting', active: 'ok', archived: 'off' } as const satisfies Record<BoardSummary['status'], Tone>
export const runTones = {
  ...{ running: 'working', waiting: 'waiting', completed: 'ok', failed: 'failed' },
  cancelled: 'off',
} as const satisfies Record<OperatorRun['status'] | 'cancelled', Tone>

/** A person ended a cancelled run: nothing is to be fixed. */
export const runStatus = ({ status, failure }: Pick<OperatorRun, 'status' | 'failure'>): keyof typeof runTones =>
  failure?.code === 'CANCELLED' ? 'cancelled' : status

type One = Readonly<{ slug: string; id: string }>

/** Without a version, the one that was saved last. */
export const boardQuery = ({ slug, id, version }: One & Readonly<{ version?: number }>) =>
  ({
    queryKey: ['boards', slug, id, ...(version === undefined ? [] : [version])],
    queryFn: () => api.boards.showTenantBoard({ params: { slug, id }, query: version === undefined ? {} : { version } }),
  }) as const

/** Checks the version of the board that was saved last. */
export const checkQuery = ({ slug, id }: One) =>
  ({
    queryKey: ['boards', slug, id, 'check'],
    queryFn: () => api.boards.checkTenantBoard({ params: { slug, id } }),
    refetchInterval: false,
  }) as const
