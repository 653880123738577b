// Holds private words out of code, help and docs: `npm run check:words`. docs/development.md says what to write instead.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')

/** Pattern, and the word to use. Patterns match prose and identifiers alike. */
const banned = [
  [/\bways? back\b|\bwayBack|\bWayBack/, 'rollback; restore (of data)'],
  [/\b(brought|goes|going) back\b/i, 'rolled back; restored'],
  [/\bundo(es|ing|ne)?\b|\bundo[A-Z]|\bUndo/, 'rollback'],
  [/\brests\b|\bcomes? to rest\b/i, 'stopped, quarantined, stalled'],
  [/\bstands? still\b/i, 'stalled'],
  [/\b(comes?|came) to stand\b/i, 'exists, is present'],
  [/\btold\b|\btold[A-Z]/i, 'reported, published, notified, logged'],
  [/\btells?\b|\btell[A-Z]/, 'publish, notify, report'],
  [/\bwrite[sn]? down\b|\bwrote down\b/i, 'record, audit'],
  [/\bmend(s|ed|ing)?\b/i, 'fix'],
  [/\bholes?\b|\bholes?[A-Z]/i, 'vulnerability'],
  [/\banew\b/i, 'again'],
  [/\bonce more\b/i, 'again'],
  [/\blies with\b/i, 'is on host …, is assigned to'],
  [/\bgiven up\b|\bgivenUp\b/i, 'abandoned'],
  [/\bgives? up\b|\bgave up\b/i, 'abandons; times out'],
  [/\bfollow-?ups?\b/i, 'jobs'],
  [/\boutbox/i, 'jobs'],
  [/\bNeeds\b|[a-z]Needs\b/, 'Deps'],
  [/\bwhoever\b/i, 'name the role: the caller, the operator'],
  [/\bnobody\b/i, 'no <noun>'],
  [/\bstir\b|\bbreath(e|es|ed)?\b/i, 'notify; yield to the event loop'],
  [/\bshel(f|ves)\b|\w[sS]helf\b/i, 'file store'],
  [/\bdesk\b|Desk\b/, 'command runner'],
  [/\btheatre\b|\bstagehand\b/i, 'simulation'],
  [/\bballast/i, 'disk reserve'],
  [/\bat worst\b|\bWORST\b/i, 'max'],
  [/\bin the middle\b|\bMIDDLE\b/i, 'median; during'],
  [/\bso far\b/i, 'until now; elapsed'],
  [/\bholds? together\b/i, 'verified'],
  [/\bchat is away\b/i, 'downtime'],
  [/\bworks until\b/i, 'expires'],
  [/\bdoorkeeper\b|\bbudgetKeeper\b|\bpatiently\b|\bcarryOut\b|\bonlooker/i, 'authenticate, rateLimit, retry, run, viewer'],
  [/\blongest[A-Z]\w*|\bmost(?!PerUser)[A-Z]\w*/, 'max…'],
  [/\b(goes?|went|going) on\b(?! the)/i, 'continue'],
  [/\bso many\b/i, 'at most <number>; the number of'],
  [/\b(hears?|heard)\b/, 'receive; report'],
  [/\bjudge[sd]?\b/, 'evaluate, verify'],
  [/\btend(s|ed|ing)?\b(?! to)/, 'maintain'],
  [/^\s*(\/\/|\/\*\*|\*) (What|Who|Whoever|Of) /, 'a subject, a verb, an object'],
  [/\brooms?\b.*\b(folder|feature)\b|\bthis room\b|\bother rooms\b|\bno room's\b/, 'feature'],
]

/** Words of the database and the wire, which keep their names, and words in their ordinary meaning. */
const allowed = [
  [/^src\/daemon\/db\/migrations\//, /./, 'a migration that shipped is never changed'],
  [/^(src|docs)\/.*(box|operating|lifecycle|removal|remove)/, /^undo/i, 'the removal of a box can be undone'],
  [/^(src|docs)\/.*(import|executors)/, /^undo/i, 'an import can be undone'],
  [/^src\/(core|agent|cli|daemon|console)\//, /^(ballast|followup)$/, 'fields, folders and topics on the wire and on disk'],
  [
    /^src\/(core|daemon|cli)\/(rollouts|alerts|contract)|^src\/core\/alerts|^src\/cli\/service\/status/,
    /^undo$/,
    'field and path names of the API',
  ],
  [/^(src|docs)\/.*(rollouts|limits|console\/overview)/, /^undo(es|ne)?$/, 'fields and values of the API'],
  [/^src\/node\/command-line/, /^mend$/, 'a field of `doctor --json`'],
  [/^src\/agent\/program\/enrol/, /^anew$/, 'the flag --anew'],
  [/^src\/daemon\/service\/docs-page/, /^Needs$/, 'a heading of the API page'],
  [/^src\/agent\/backup\/maintain-snapshots/, /^tend$/, 'a step on the wire'],
  [/wall-clock/, /^middle$/, 'the middle of an interval'],
]

const folders = ['src', 'docs', 'deploy', 'config', 'bin']
const files = [
  ...folders.flatMap((folder) => readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`)),
  'README.md',
  'CHANGELOG.md',
].filter((file) => /\.(tsx?|js|md|yaml|conf|template|service|sh)$/.test(file))

/** Quoted names with a dot, dash or underscore belong to the wire, the database or the settings, which keep their names. */
const withoutNames = (line) => line.replace(/(['"`])[./]*[A-Za-z0-9]+(?:[._:/-][A-Za-z0-9]+)+\1/g, "''").replace(/--anew\b/g, '')

const found = files.flatMap((file) =>
  readFileSync(join(root, file), 'utf8')
    .split('\n')
    .map(withoutNames)
    .flatMap((line, at) =>
      banned
        .filter(([pattern]) => pattern.test(line))
        .map(([pattern, instead]) => ({ file, line: at + 1, word: line.match(pattern)[0], instead })),
    ),
)
const wrong = found.filter(({ file, word }) => !allowed.some(([path, words]) => path.test(file) && words.test(word.trim())))
if (process.argv.includes('--summary')) {
  const by = new Map()
  for (const { file } of wrong) by.set(file.split('/').slice(0, 3).join('/'), (by.get(file.split('/').slice(0, 3).join('/')) ?? 0) + 1)
  for (const [folder, count] of [...by].sort((a, b) => b[1] - a[1])) console.log(String(count).padStart(5), folder)
} else for (const { file, line, word, instead } of wrong) console.log(`${file}:${line} "${word.trim()}": use ${instead}`)
console.log(`${wrong.length} private words`)
if (wrong.length > 0) process.exitCode = 1
