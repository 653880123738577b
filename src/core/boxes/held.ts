import { type Problem, problem } from '../kit/index.ts'
import { maintenanceHolder } from './fence-watch.ts'

/** Somebody acts on a box: `rollout:ro_…`, `move:…`, `removal:…`, `restore:…`, or `maintenance`. */
type Holding = Readonly<{ slug: string; holder: string; until?: string | undefined }>

/** `held by rollout ro_… until … at the latest`. A hold without end has no time that could be told. */
export const holdText = ({ holder, until }: Pick<Holding, 'holder' | 'until'>): string =>
  `held by ${holder.replace(':', ' ')}${until === undefined || until.startsWith('9999') ? '' : ` until ${until} at the latest`}`

/** The refusal of whoever comes second: who has the box, for how long, and what to type. */
export function boxHeld({ slug, holder, until }: Holding): Problem {
  if (holder === maintenanceHolder)
    return problem('BOX_HELD', `the box ${slug} is in maintenance: \`tenantry boxes maintenance off ${slug}\` ends it`)
  const [kind, id = ''] = holder.split(':')
  const look = kind === 'rollout' ? `tenantry rollouts show ${id} --box ${slug}` : `tenantry boxes show ${slug}`
  return problem('BOX_HELD', `the box ${slug} is ${holdText({ holder, until })}: wait for it; \`${look}\` tells how far it is`)
}
