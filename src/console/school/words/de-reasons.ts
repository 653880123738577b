/** A text of the daemon and what it is in German; `$1` is what stood in its place. */
type Pattern = readonly [pattern: RegExp, german: string]

/** Reasons of an import and of refused fields. Loaded with the pages that show them; what no pattern fits stays English. */
const patterns: readonly Pattern[] = [
  [
    /^username is a mail address\. fix: keep the part before the @$/,
    'Der Anmeldename ist eine Mailadresse. Abhilfe: nur den Teil vor dem @ angeben',
  ],
  [/^username is reserved$/, 'Der Anmeldename ist der Plattform vorbehalten'],
  [/^username is on line (\d+) already$/, 'Der Anmeldename steht schon in Zeile $1'],
  [
    /^username must be lower-case letters, digits and \. _ = \/ \+ -, not starting with _/,
    'Der Anmeldename darf nur Kleinbuchstaben, Ziffern und . _ = / + - haben und nicht mit _ beginnen',
  ],
  [/^username must not be digits alone: the chat server reserves such names/, 'Der Anmeldename darf nicht nur aus Ziffern bestehen'],
  [/^username must not be dots alone: URLs cannot contain it/, 'Der Anmeldename darf nicht nur aus Punkten bestehen'],
  [/^displayName must not contain control characters$/, 'Der Name enthält Steuerzeichen'],
  [/^displayName /, 'Name: '],
  [/^locale must be a language tag such as de or de-AT$/, 'Die Sprache muss ein Kürzel wie de oder de-AT sein'],
  [/^email /, 'Mailadresse: '],
  [/^roles: there is no role (.+)$/, 'Diese Rolle gibt es nicht: $1'],
  [/^roles must not name a role twice$/, 'Eine Rolle ist zweimal genannt'],
  [
    /^roles: (.+) allows more than your own roles do\. fix: ask a user who has (?:that role|those roles), or the operator$/,
    'Rollen: $1 erlaubt mehr als Ihre eigenen. Abhilfe: jemanden mit dieser Rolle bitten, oder den Betreiber',
  ],
  [
    /^This user may do what you may not \(.+\), so you cannot change it\. fix: ask a user with these capabilities, or the operator$/,
    'Diese Person darf mehr als Sie, deshalb können Sie sie nicht ändern. Abhilfe: jemanden mit diesen Rechten bitten, oder den Betreiber',
  ],
  [
    /^a user of this name was erased; the name is not given out again\. fix: choose another username$/,
    'Eine Person mit diesem Namen wurde gelöscht; der Name wird nicht wieder vergeben. Abhilfe: einen anderen Anmeldenamen wählen',
  ],
  [
    /^this user is disabled\. fix: enable it; for another person choose another username$/,
    'Diese Person ist gesperrt. Abhilfe: entsperren; für eine andere Person einen anderen Anmeldenamen wählen',
  ],
  [/^has the name (".*"), in the file (".*")$/, 'Heißt $1, in der Datei $2'],
  [/^name (".*") becomes (".*")$/, 'Der Name $1 wird zu $2'],
  [/^invited by mail$/, 'per Mail eingeladen'],
  [/^the chat account existed and keeps its password$/, 'Das Chat-Konto gab es schon; es behält sein Passwort'],
  [
    /^the password must not be the name of the user or of the organisation$/,
    'Das Passwort darf nicht der Name der Person oder der Schule sein',
  ],
  [/^the chat server: /, 'Der Chatserver: '],
  [/^Ignored columns: (.+)$/, 'Nicht verwendete Spalten: $1'],
  [/^Usernames: (".*") without (@.+)$/, 'Anmeldenamen: $1 ohne $2'],
  [/^Names: (.+)$/, 'Namen: $1'],
  [/^the file is empty$/, 'Die Datei ist leer'],
  [/^the file is XML or a web page\. fix: export it as CSV$/, 'Die Datei ist XML oder eine Webseite. Abhilfe: als CSV exportieren'],
  [/^the file has more than (\d+) lines\. fix: split it$/, 'Die Datei hat mehr als $1 Zeilen. Abhilfe: teilen'],
  [
    /^the file has more than (\d+) cells\. fix: delete the columns that are not needed$/,
    'Die Datei hat mehr als $1 Zellen. Abhilfe: Spalten löschen, die nicht gebraucht werden',
  ],
  [
    /^line (\d+) has a letter that was lost \(\ufffd\)\. fix: export the file again, and send it in its own encoding or as UTF-8$/,
    'In Zeile $1 ging ein Buchstabe verloren (\ufffd). Abhilfe: die Datei neu exportieren, in ihrer Kodierung oder als UTF-8',
  ],
  [/^line (\d+) has (\d+) cells, but the header names (\d+) columns$/, 'Zeile $1 hat $2 Zellen, die Kopfzeile nennt aber $3 Spalten'],
  [
    /^line (\d+): a cell in quotation marks has more of them inside\. fix: delete those inside, or write each of them twice$/,
    'Zeile $1: In einer Zelle in Anführungszeichen stehen weitere. Abhilfe: diese löschen oder doppelt schreiben',
  ],
  [/^the header names the column (".*") twice$/, 'Die Kopfzeile nennt die Spalte $1 zweimal'],
  [
    /^no column has the usernames\. The first line has to name the columns, and is: (.+)\. fix: add a column username, with a name such as joerg\.mueller for each user$/,
    'Keine Spalte hat Anmeldenamen. Die erste Zeile muss die Spalten nennen, und ist: $1. Abhilfe: eine Spalte Anmeldename ergänzen, etwa mit joerg.mueller',
  ],
  [
    /^the encoding is not recognised\. fix: save it as "CSV UTF-8", or name its encoding$/,
    'Die Kodierung ist nicht zu erkennen. Abhilfe: als „CSV UTF-8“ speichern',
  ],
  // Behind another one.
  [/\. fix: write it as (\S+)$/, '. Abhilfe: $1 schreiben'],
]

/** The reason in German; undefined where a part of it is not known. */
export function germanReason(text: string): string | undefined {
  const german = patterns.reduce((soFar, [pattern, words]) => soFar.replace(pattern, words), text)
  return german === text ? undefined : german
}
