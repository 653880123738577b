import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { BoxRow } from '../../core/boxes/index.ts'
import { api, now, queryClient } from '../kit/index.ts'
import { boxesQuery } from './queries.ts'

type Asked = Readonly<{
  slugs: ReadonlySet<string>
  before: ReadonlyMap<string, string>
  startedAt: string
  unreachable: readonly Readonly<{ slug: string; host: string }>[]
}>

export type Scan = Readonly<{
  all: number
  answered: number
  changed: readonly string[]
  isOver: boolean
  skipped: number
  hosts: readonly string[]
}>

const [everyMs, everyMsOfMany, many, maxWaitMs] = [1000, 4000, 1000, 120_000]

const versionsOf = ({ installed }: BoxRow) => Object.values(installed).join(' ')

/** Counts the boxes that reported since the scan began. */
function progressOf({ slugs, before, startedAt, unreachable }: Asked, boxes: readonly BoxRow[], nowMs: number): Scan {
  const answered = boxes.filter(({ slug, reportedAt }) => slugs.has(slug) && reportedAt !== null && reportedAt >= startedAt)
  return {
    all: slugs.size,
    answered: answered.length,
    changed: answered.filter((box) => before.get(box.slug) !== versionsOf(box)).map(({ slug }) => slug),
    isOver: answered.length >= slugs.size || nowMs - Date.parse(startedAt) > maxWaitMs,
    skipped: unreachable.length,
    hosts: [...new Set(unreachable.map(({ host }) => host))],
  }
}

/** Starts scans and follows the latest one until every box answered or two minutes passed. */
export function useScan() {
  const [asked, setAsked] = useState<Asked>()
  const boxes = useQuery({
    ...boxesQuery,
    ...(asked ? { refetchInterval: asked.slugs.size > many ? everyMsOfMany : everyMs, staleTime: 0 } : {}),
  }).data
  const scan = asked && progressOf(asked, boxes ?? [], now().getTime())
  const [final, setFinal] = useState<Scan>()
  if (asked && scan?.isOver) {
    setFinal(scan)
    setAsked(undefined)
  }
  const start = async (slugs: readonly string[] | undefined) => {
    // The daemon stores times in milliseconds; a report of this second may be older than the call.
    const startedAt = now().toISOString()
    const before = new Map((boxes ?? []).map((box) => [box.slug, versionsOf(box)]))
    const { commands, unreachable } = await api.boxes.scanBoxes({ body: slugs ? { slugs: [...slugs] } : {} })
    setFinal(undefined)
    setAsked({ slugs: new Set(commands.map(({ slug }) => slug)), before, startedAt, unreachable })
    void queryClient.invalidateQueries({ queryKey: boxesQuery.queryKey })
  }
  return { scan: scan ?? final, start, dismiss: () => setFinal(undefined) }
}
