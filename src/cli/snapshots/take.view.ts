import { plural } from '../../core/kit/index.ts'
import { clean, type Style, sections } from '../kit/index.ts'
import type { Taken } from './take.ts'

export function takenView({ asked, taken, failed }: Taken, { paint }: Style): string {
  const failures = failed.map(({ slug, error }) => `${paint.red(slug)}: ${clean(error)}`).join('\n')
  return sections(failures, summary(asked, taken))
}

function summary(asked: Taken['asked'], taken: Taken['taken']): string {
  if (asked.length === 0) return ''
  const [only] = asked
  const see = asked.length === 1 && only ? `tenantry snapshots list --slug ${only.slug}` : 'tenantry snapshots list'
  if (taken.length > 0) return `${plural(taken.length, 'snapshot')} taken: ${see}`
  return `${plural(asked.length, 'snapshot is', 'snapshots are')} asked for. What comes of it: ${see}`
}
