import { type AlertKind, alertKinds } from '../../core/alerts/index.ts'

/**
 * The page of an alert's subject; undefined where there is none. A run, board, module, room or chat user is named after its tenant,
 * `school/run_…`. Alerts about no tenant alone have the subject `billing`.
 */
export function subjectPage(kind: AlertKind, subject: string): string | undefined {
  const { about } = alertKinds[kind]
  const [slug = '', rest = ''] = subject.split('/')
  if (about === null || (about === 'tenant' && subject === 'billing')) return undefined
  if (about === 'board' && rest.startsWith('brd_')) return `/boards/${slug}/${rest}`
  if (about === 'run' && rest !== '') return `/runs/${slug}/${rest}`
  if (about === 'run' || about === 'tenant' || about === 'board') return `/tenants/${slug}`
  if (about === 'submission') return `/marketplace/submissions/${subject}`
  return `/${about === 'box' ? 'boxes' : `${about}s`}/${subject}`
}
