import type { Texts } from './en.ts'

export const tr: Texts = {
  hello: 'Merhaba,',
  'reset.subject': '{organisation} için parolanız',
  'reset.what': '{organisation} hesabınız için yeni bir parola istendi. Parolayı bu bağlantıyla belirleyin:',
  'reset.else': 'Bunu siz istemediyseniz bu e-postayı dikkate almayın: parolanız olduğu gibi kalır.',
  'invitation.subject': '{organisation} için hesabınız',
  'invitation.what': '{organisation} sizin için bir hesap oluşturdu. Parolanızı bu bağlantıyla seçin:',
  'invitation.else': 'Bu kurumu tanımıyorsanız bu e-postayı dikkate almayın.',
  'link.valid': 'Kullanıcı adınız: {username}. Bağlantı yalnızca bir kez ve şu zamana kadar geçerlidir: {until}.',
  'maintenance.announced.subject': '{organisation} sohbetinin bakımı',
  'maintenance.announced.within': '{organisation} sohbet sunucusu şu süre içinde güncellenecek: {from} – {to}.',
  'maintenance.announced.from': '{organisation} sohbet sunucusu güncellenecek; en erken: {from}.',
  'maintenance.measured': 'Sohbete bu sırada yaklaşık {duration} ulaşılamaz; bu süre son güncellemede ölçüldü.',
  'maintenance.estimated': 'Sohbete bu sırada yaklaşık {duration} ulaşılamaz; bu bir tahmindir.',
  'maintenance.kept': 'Hiçbir mesaj kaybolmaz ve uygulamalar kendiliğinden yeniden bağlanır.',
  'maintenance.moved': 'Zaman değişirse burada görürsünüz: {url}',
  'maintenance.cancelled.subject': '{organisation} sohbetinin bakımı yapılmayacak',
  'maintenance.cancelled.what': '{organisation} sohbet sunucusunun duyurulan güncellemesi yapılmayacak.',
  'maintenance.undone.subject': '{organisation} sohbeti önceki sürümüne dönüyor',
  'maintenance.undone.what': '{organisation} sohbet sunucusunun güncellemesi geri alınıyor. Sohbete kısa bir süre daha ulaşılamayacak.',
}
