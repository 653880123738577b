import { plural } from '../../core/kit/index.ts'
import type { ReconciledBox } from '../../core/users/index.ts'
import { command, fields, type Style, sections, stamp, text } from '../kit/index.ts'

export const reconcile = command(
  'reconcile <slug>',
  'Say users and spaces to the chat of a box again, after its data was brought back by hand',
  { snapshot: text('--snapshot <id>', 'whose data it has now; eight characters of its id are enough') },
  ({ api }, { slug, snapshot }) => api.users.reconcileBox({ params: { slug }, body: snapshot === undefined ? {} : { snapshot } }),
  reconciledView,
  { examples: ['reconcile anna-schule --snapshot 3f2a91c0'] },
)

function reconciledView({ slug, users, spaces, takenAt, oldPasswords }: ReconciledBox, style: Style): string {
  return sections(
    `What the platform knows is being said to the chat of ${slug} again; once more does no harm.`,
    fields(style, [
      ['users', `${users}: locks, names, accounts that are missing`],
      ['spaces', `${spaces}: rooms and who is in them`],
      ['data of', takenAt && stamp(takenAt, style.now)],
      ['old passwords', oldPasswords === null ? 'not looked for: --snapshot <id> says whose data it has' : String(oldPasswords)],
    ]),
    oldPasswords
      ? `${plural(oldPasswords, 'user')} with an older password than the newest: tenantry users list ${slug} --old-password`
      : '',
    ['What is not done yet: tenantry followups list', `Whose account was made anew: tenantry users list ${slug} --without-password`].join(
      '\n',
    ),
  )
}
