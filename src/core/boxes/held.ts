import { type Problem, problem } from '../kit/index.ts'
import { maintenanceHolder } from './fence-watch.ts'

/** Somebody acts on a box: `rollout:ro_…`, `move:…`, `removal:…`, `restore:…`, or `maintenance`. */
type Holding = Readonly<{ slug: string; holder: string; until?: string | undefined }>

/** The refusal of whoever comes second: who has the box, for how long, and what to type. A hold without end has no time that could be told. */
export function boxHeld({ slug, holder, until }: Holding): Problem {
  if (holder === maintenanceHolder)
    return problem('BOX_HELD', `the box ${slug} is in maintenance: \`tenantry boxes maintenance off ${slug}\` ends it`)
  const [kind, id = ''] = holder.split(':')
  const look = kind === 'rollout' ? `tenantry rollouts show ${id} --box ${slug}` : `tenantry boxes show ${slug}`
  const atMost = until === undefined || until.startsWith('9999') ? '' : ` until ${until} at the latest`
  return problem(
    'BOX_HELD',
    `the box ${slug} is held by ${holder.replace(':', ' ')}${atMost}: wait for it; \`${look}\` tells how far it is`,
  )
}
