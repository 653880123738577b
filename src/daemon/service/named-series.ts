import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { isoNow } from '../../core/kit/index.ts'
import { type BoxMetrics, boxMetricsAfter, countBoxesOfHosts, type FleetDeps, readFleet } from '../boxes/index.ts'
import type { Db } from '../db/index.ts'
import { hostMetrics } from '../hosts/index.ts'
import { newestPerTenant } from '../snapshots/index.ts'
import { addBox, boxFamilies } from './box-series.ts'
import { addHost, hostFamilies } from './host-series.ts'
import { type Families, makeSeries } from './series.ts'

export type NamedSeriesDeps = FleetDeps & Readonly<{ db: Db; maxBoxes: number }>

const omittedFamilies = {
  tenantry_boxes_omitted: { type: 'gauge', labels: [], help: 'Live boxes without metrics of their own: more than metrics.maxBoxes' },
} as const satisfies Families

/** All metrics that name boxes and hosts. */
export const namedFamilies: Families = { ...hostFamilies, ...boxFamilies, ...omittedFamilies }

const maxHosts = 2000

/** Boxes of one statement: reading and writing them keeps the thread for a few milliseconds. */
const pageSize = 200

/**
 * Metrics of each live box and each host in the text format, which is yielded in parts between which the thread does other work. Boxes come by
 * slug, at most `maxBoxes`; the number of the others is a metric too.
 */
export async function* namedSeries(deps: NamedSeriesDeps): AsyncGenerator<string> {
  const { db, clock, offlineAfterMs } = deps
  const [now, boxesOfHosts] = [clock.now(), await countBoxesOfHosts(db)]
  const hosts = makeSeries(hostFamilies)
  for (const host of await hostMetrics(db, maxHosts)) addHost(hosts, host, { now, offlineAfterMs, boxes: boxesOfHosts })
  yield* hosts.text()
  const boxes = makeSeries(boxFamilies)
  let shown = 0
  for await (const page of pagesOfBoxes(deps)) {
    const tenants = page.map(({ tenantId }) => tenantId)
    const newestSnapshots = await newestPerTenant(db, isoNow(clock), tenants)
    for (const box of page) addBox(boxes, box, { nowMs: now.getTime(), newestSnapshots })
    shown += page.length
  }
  for (const part of boxes.text()) {
    yield part
    await yieldToEventLoop()
  }
  const omitted = makeSeries(omittedFamilies)
  const live = [...boxesOfHosts.values()].reduce((sum, count) => sum + count, 0)
  omitted.add('tenantry_boxes_omitted', '', Math.max(0, live - shown))
  yield* omitted.text()
}

async function* pagesOfBoxes({ db, maxBoxes, ...deps }: NamedSeriesDeps): AsyncGenerator<readonly BoxMetrics[]> {
  const fleet = await readFleet(deps, db)
  let after = ''
  for (let left = maxBoxes; left > 0; left -= pageSize) {
    const limit = Math.min(left, pageSize)
    const page = await boxMetricsAfter(db, { after, limit }, fleet)
    if (page.length > 0) yield page
    if (page.length < limit) return
    after = page.at(-1)?.slug ?? after
    await yieldToEventLoop()
  }
}
