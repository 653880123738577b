import { type ProblemCode, splitFix } from '../../../core/kit/index.ts'
import { germanReasons } from '../../../core/users/index.ts'
import type { KitTexts } from '../../kit/index.ts'

/** Title and advice by code; other problems show the words of the daemon. */
const problems: Readonly<Partial<Record<ProblemCode, Readonly<{ title: string; what?: string }>>>> = {
  VALIDATION: { title: 'Eine Angabe ist nicht gültig' },
  UNAUTHENTICATED: { title: 'Die Sitzung ist beendet', what: 'Melden Sie sich neu an.' },
  LOGIN_FAILED: { title: 'Die Anmeldung ist fehlgeschlagen', what: 'Schule, Anmeldename oder Passwort stimmen nicht.' },
  ACCOUNT_LOCKED: {
    title: 'Zu viele falsche Passwörter',
    what: 'Das Konto ist bis zu 15 Minuten gesperrt. Die Verwaltung der Schule kann die Sperre beenden.',
  },
  WRONG_PASSWORD: { title: 'Das aktuelle Passwort ist falsch', what: 'Geben Sie es noch einmal ein.' },
  SETUP_REQUIRED: { title: 'Das Passwort muss zuerst ersetzt werden', what: 'Wählen Sie ein eigenes Passwort.' },
  TENANT_SUSPENDED: { title: 'Die Schule ist gesperrt', what: 'Wenden Sie sich an den Betreiber der Plattform.' },
  HOMESERVER_UNREACHABLE: { title: 'Der Chatserver antwortet nicht', what: 'Versuchen Sie es in ein paar Minuten noch einmal.' },
  FORBIDDEN: { title: 'Das ist Ihnen nicht erlaubt', what: 'Ihre Rollen erlauben das nicht, oder die Person darf mehr als Sie.' },
  NOT_FOUND: { title: 'Nicht gefunden', what: 'Das gibt es nicht, oder nicht mehr.' },
  CONFLICT: { title: 'Das geht im jetzigen Zustand nicht' },
  ALREADY_EXISTS: { title: 'Der Name ist vergeben', what: 'Wählen Sie einen anderen Anmeldenamen.' },
  RATE_LIMITED: { title: 'Zu viele Anfragen', what: 'Warten Sie einen Moment und versuchen Sie es noch einmal.' },
  CONFIG: { title: 'Das ist auf dieser Plattform nicht eingerichtet' },
  PAYLOAD_TOO_LARGE: { title: 'Die Datei ist zu groß', what: 'Teilen Sie sie in mehrere Dateien.' },
  UNREACHABLE: { title: 'Keine Verbindung', what: 'Die Plattform antwortet nicht. Prüfen Sie das Netz.' },
  UNAVAILABLE: { title: 'Zurzeit nicht möglich', what: 'Versuchen Sie es in einem Moment noch einmal.' },
  INTERNAL: { title: 'Fehler der Plattform', what: 'Melden Sie dem Betreiber die Nummer der Anfrage.' },
  OBJECT_STORE_UNAVAILABLE: { title: 'Der Dateispeicher antwortet nicht', what: 'Versuchen Sie es in einer Minute noch einmal.' },
  PAYMENTS_UNAVAILABLE: {
    title: 'Der Zahlungsanbieter antwortet nicht',
    what: 'Es wurde nichts berechnet. Versuchen Sie es später noch einmal.',
  },
  PAYMENT_FAILED: { title: 'Die Zahlung wurde abgelehnt', what: 'Es wurde nichts berechnet. Hinterlegen Sie ein anderes Zahlungsmittel.' },
}

const fields: Readonly<Record<string, string>> = {
  newPassword: 'Neues Passwort',
  password: 'Passwort',
  localpart: 'Anmeldename',
  displayName: 'Name',
  email: 'Mailadresse',
  roles: 'Rollen',
  tenant: 'Schule',
  username: 'Anmeldename',
  reason: 'Grund',
  file: 'Datei',
}

/** The words of the kit. */
export const deKit: KitTexts = {
  loading: 'Wird geladen',
  copy: 'Kopieren',
  copied: 'Kopiert',
  notCopied: 'Nicht kopiert: markieren Sie den Text',
  copyOf: (text) => `${text} kopieren`,
  cancel: 'Abbrechen',
  more: 'Mehr anzeigen',
  reason: 'Grund, für das Protokoll',
  optionalReason: 'Grund (freiwillig), für das Protokoll',
  confirm: ['Zur Bestätigung ', ' eingeben'],
  pageFailed: 'Diese Seite hat einen Fehler',
  tryAgain: 'Noch einmal versuchen',
  next: 'Weiter:',
  request: 'Anfrage',
  detail: (path, reason) => `${fields[path] ?? path} ${germanReasons[reason] ?? reason}`,
  problem: ({ code, message }) => {
    const { title = 'Das hat nicht geklappt', what } = problems[code] ?? {}
    return what === undefined ? { title, ...splitFix(message) } : { title, what, fix: undefined }
  },
}
