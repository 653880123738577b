import { formatSize } from '../../core/files/index.ts'
import { plural, problem } from '../../core/kit/index.ts'
import type { TenantDeletion } from '../../core/privacy/index.ts'
import { type Context, clean, command, required, type Style, sections, text } from '../kit/index.ts'

export const deleteTenant = command('delete <slug>', 'Delete a suspended tenant and its data for good', {
  options: { reason: required(text('--reason <text>', 'reason for the audit log')) },
  run: async (context, { slug, reason }) => {
    const { api, yes } = context
    const deletion = await api.privacy.showTenantDeletion({ params: { slug } })
    if (deletion.blockers.length > 0) throw problem('CONFLICT', stepsBefore(deletion))
    if (!yes && deletion.state === 'none') await confirm(context, deletion)
    return api.privacy.deleteTenant({ params: { slug }, body: { confirm: slug, reason } })
  },
  view: deletionStarted,
  examples: ['delete anna-schule --reason "contract ended"'],
})

const stepsBefore = ({ slug, blockers }: TenantDeletion): string =>
  [`${clean(slug)} cannot be deleted yet:`, ...blockers.map((blocker, n) => `${n + 1}. ${clean(blocker)}`)].join('\n')

async function confirm({ ask, notify }: Context, deletion: TenantDeletion): Promise<void> {
  notify((style) => deletionView(deletion, style))
  const typed = await ask.text(`Type ${deletion.slug} to delete the tenant:`, 'pass --yes')
  if (typed.trim() !== deletion.slug) throw problem('CANCELLED', `confirmation does not match ${deletion.slug}; nothing was changed`)
}

/** Shown before the question. */
const deletionView = ({ slug, name, contents, remains }: TenantDeletion, { paint }: Style): string =>
  sections(
    paint.bold(`Delete ${clean(slug)} (${clean(name)}) for good:`),
    [
      `${plural(contents.users, 'user')}, ${plural(contents.spaces, 'space')}, ${plural(contents.tasks, 'task')}`,
      `${plural(contents.files, 'file')} (${formatSize(contents.fileBytes)})`,
      `${plural(contents.boards, 'board')}, ${plural(contents.runs, 'run')}, ${plural(contents.modules, 'module')}`,
      `${plural(contents.snapshots, 'snapshot')} of its box: chats and media cannot be restored afterwards`,
    ].join('\n'),
    remains.length === 0 ? '' : ['Not deleted:', ...remains.map(clean)].join('\n'),
    `Export it first: \`tenantry tenants export ${clean(slug)} --to <file>\``,
  )

function deletionStarted({ slug, remains }: TenantDeletion, _: Style): string {
  return sections(
    `${clean(slug)} is being deleted by a job (\`tenantry jobs list\`). It is deleted once \`tenantry tenants show ${clean(slug)}\` no longer finds it.`,
    remains.length === 0 ? '' : ['Not deleted:', ...remains.map(clean)].join('\n'),
  )
}
