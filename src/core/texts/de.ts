import type { Texts } from './en.ts'

export const de: Texts = {
  hello: 'Guten Tag,',
  'reset.subject': 'Ihr Passwort für {organisation}',
  'reset.what': 'für Ihr Konto bei {organisation} wurde ein neues Passwort angefordert. Mit diesem Link setzen Sie es:',
  'reset.else': 'Haben Sie es nicht angefordert, ignorieren Sie diese Mail: Ihr Passwort bleibt, wie es ist.',
  'invitation.subject': 'Ihr Konto bei {organisation}',
  'invitation.what': '{organisation} hat ein Konto für Sie angelegt. Mit diesem Link wählen Sie Ihr Passwort:',
  'invitation.else': 'Kennen Sie diese Einrichtung nicht, ignorieren Sie diese Mail.',
  'link.valid': 'Ihr Anmeldename ist {username}. Der Link gilt einmal, bis {until}.',
  'maintenance.announced.subject': 'Wartung des Chats von {organisation}',
  'maintenance.announced.within': 'der Chat-Server von {organisation} wird zwischen {from} und {to} aktualisiert.',
  'maintenance.announced.from': 'der Chat-Server von {organisation} wird aktualisiert, frühestens am {from}.',
  'maintenance.measured': 'Der Chat ist dabei etwa {duration} nicht erreichbar, wie bei der letzten Aktualisierung gemessen.',
  'maintenance.estimated': 'Der Chat ist dabei etwa {duration} nicht erreichbar; das ist eine Schätzung.',
  'maintenance.kept': 'Keine Nachricht geht verloren, und Apps verbinden sich von selbst wieder.',
  'maintenance.moved': 'Ändert sich die Zeit, sehen Sie es hier: {url}',
  'maintenance.cancelled.subject': 'Keine Wartung des Chats von {organisation}',
  'maintenance.cancelled.what': 'die angekündigte Aktualisierung des Chat-Servers von {organisation} findet nicht statt.',
  'maintenance.undone.subject': 'Der Chat von {organisation} kehrt zur vorigen Version zurück',
  'maintenance.undone.what':
    'die Aktualisierung des Chat-Servers von {organisation} wird zurückgenommen. Der Chat ist dafür noch einmal kurz nicht erreichbar.',
}
