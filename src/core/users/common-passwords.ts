import { foldName } from './fold-name.ts'

/**
 * Words that published lists of leaked passwords have in common, chosen by hand: the heads of the lists of SecLists (Common-Credentials) and of the
 * Hasso Plattner Institute, and words of schools. Folded: small letters without accents.
 */
const words = new Set(
  `password passwort passwd passphrase kennwort geheim geheimnis secret admin administrator administrateur root user benutzer guest gast
  login welcome willkommen bienvenue letmein changeme default computer internet google microsoft windows samsung apple iphone android
  hello hallo servus moin bonjour hola ciao iloveyou loveyou ichliebedich jetaime teamo tiamo liebe love lovely schatz schatzi
  engel angel baby babygirl princess prinzessin prinz prince sunshine sonnenschein sonne schmetterling butterfly flower flowers blume
  blumen rainbow regenbogen stern sterne star stars starwars pokemon pikachu minecraft fortnite roblox nintendo playstation xbox spiderman
  superman batman ironman naruto dragon drache monster master killer shadow ninja matrix zelda mario football fussball soccer baseball
  basketball handball hockey tennis schalke borussia bayern fcbayern dortmund hamburg werder liverpool chelsea arsenal barcelona juventus
  realmadrid ronaldo messi berlin muenchen munchen koeln koln hamburger frankfurt deutschland germany oesterreich osterreich austria schweiz
  england america france spring summer autumn winter sommer fruehling fruhling herbst monday montag dienstag mittwoch donnerstag freitag
  friday sunday samstag sonntag january januar february februar march maerz april june juni july juli august september october oktober
  november december dezember school schule meineschule grundschule realschule gymnasium gesamtschule lehrer lehrerin teacher schueler
  schuler student students pupil klasse class kindergarten kita test tester testing testtest qwertz qwerty azerty money geld freedom
  freiheit family familie mother mutter mama mami father vater papa papi bruder schwester brother sister freund freunde freundin friend
  friends daniel michael thomas andreas alexander christian stefan sebastian martin peter julia jessica jennifer michelle nicole ashley
  andrea sandra sabine sarah laura anna maria hannah charlie george jordan robert william jonathan matthew anthony joshua maverick
  tigger ginger pepper cookie cheese chocolate schokolade banana banane erdbeere strawberry orange purple yellow schwarz black white
  hund katze kater hunde katzen pferd pferde tiger loewe lion wolf mouse maus hase haschen kaninchen eagle falcon phoenix mustang ferrari
  porsche mercedes yamaha honda corvette camaro harley trustno1 abc123 access whatever nothing success victoria diamond jasmine arschloch
  scheisse ficken fuckyou asshole pussy sexy`.split(/\s+/),
)

/** Rows of keyboards and alphabets, of which parts are typed in one movement. */
const rows = [
  ...[
    '01234567890',
    'abcdefghijklmnopqrstuvwxyz',
    'qwertzuiop',
    'qwertyuiop',
    'azertyuiop',
    'asdfghjkl',
    'qsdfghjklm',
    'yxcvbnm',
    'zxcvbnm',
  ],
  ...['1q2w3e4r5t6z7u8i9o0p', '1q2w3e4r5t6y7u8i9o0p', 'q1w2e3r4t5z6u7', 'q1w2e3r4t5y6u7', '1qay2wsx3edc4rfv5tgb', '1qaz2wsx3edc4rfv5tgb'],
  ...['qayxswedc', 'qazwsxedc', '147258369', '789456123', '1123581321'],
].flatMap((row) => [row, [...row].toReversed().join('')])

const minRun = 3

/** Every part of a row. A part without its last sign is a part too, so that the longest one is found sign by sign. */
const rowParts = new Set(
  rows.flatMap((row) =>
    [...row].flatMap((_, from) => Array.from({ length: row.length - from }, (_, count) => row.slice(from, row.length - count))),
  ),
)

/** True if the text consists of parts of rows alone: `qwertz123`, `abc12345`. */
function isOfRows(text: string): boolean {
  for (let at = 0; at < text.length; ) {
    let end = at + 1
    while (end < text.length && rowParts.has(text.slice(at, end + 1))) end += 1
    if (end - at < minRun) return false
    at = end
  }
  return true
}

/** A letter for the sign that stands for it: `p4ssw0rt`. */
const lookalikes: Readonly<Record<string, string>> = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '@': 'a',
  $: 's',
  '!': 'i',
}
const spelled = (text: string): string => text.replace(/[013457@$!]/g, (sign) => lookalikes[sign] ?? sign)

/** Digits and signs around a word add little: `Sommer2026!`. More of them may be a password of their own. */
const maxAround = 6
const bare = (text: string): string => text.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, '')

function isWord(text: string): boolean {
  const core = bare(text)
  if (words.has(core)) return text.length - core.length <= maxAround
  for (let around = 0; around <= maxAround && around < text.length; around += 1)
    if (words.has(spelled(text.slice(0, text.length - around)))) return true
  return false
}

/** Longer texts are refused as passwords anyway, and would take time: an import may bring ten thousand. Signs such as ﷺ become many letters. */
const maxLength = 72

/** True for passwords that a guesser tries first: well-known words, rows of the keyboard, repetitions. */
export function isCommonPassword(password: string): boolean {
  if (password.length > maxLength) return false
  const text = foldName(password).replace(/\s+/g, '')
  if (text.length > maxLength) return false
  const [, unit] = /^(.+?)\1+$/u.exec(text) ?? []
  if (new Set(text).size <= 2 || (unit !== undefined && unit.length <= 4)) return true
  return [text, ...(unit === undefined ? [] : [unit])].some((part) => words.has(part) || isWord(part) || isOfRows(part))
}

const lettersOf = (text: string): string => foldName(text).replace(/[^\p{L}\p{N}]+/gu, '')

/** True if the password is one of these names, alone or with a few digits and signs: the login name, the organisation. */
export function isOwnName(password: string, names: readonly (string | null)[]): boolean {
  const text = lettersOf(password)
  const known = names.map((name) => lettersOf(name ?? '')).filter((name) => name.length >= 3)
  return known.some(
    (name) => [text, text.replace(/\p{N}+$/u, ''), text.replace(/^\p{N}+/u, '')].includes(name) && text.length - name.length <= maxAround,
  )
}
