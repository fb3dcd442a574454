package brakes

import "strings"

// The lexicon holds what people and agents say to each other without saying anything about
// a matter: the closed classes of a language (articles, pronouns, auxiliaries), and the words
// of courtesy, praise, agreement and readiness. Whatever is not in it counts as content, so a
// word that is missing makes the judge more patient and never less.
//
// Words are lower-case and without accents, "_" joins those of a phrase, "*" ends a stem. The
// longest phrase counts; of single words the whole one before a stem.

// role is what a word does in a message.
type role uint8

const (
	content  role = iota
	function      // holds sentences together
	personal      // I and you: courtesy speaks of those who speak
	courtesy      // thanks, greetings, praise, assent, readiness: said for the other's sake
	vague         // goes with courtesy as well as with work, and says little by itself
	progress      // answers and steps on: yes, no, done, next
)

const functionWords = `
وأنا أيضا جدا معك وأنت ولك لك بك يوم ol buyuk

a an the this that these those there here it its itself i me my mine myself we us our ours ourselves you your yours
yourself yourselves he him his she her hers they them their theirs one ones each other others another every everyone everything
anyone anything anybody someone something somebody nothing nobody none all both either neither any some such same own much many
more most less least few several lot lots bit and or but nor so yet if then else than as while when whenever where wherever
what whatever which whichever who whom whose how why because since though although unless until till of in on at by for with
without within about above across after against along alongside among around before behind below beneath beside besides between
beyond despite down during except from inside into like near off onto out outside over per through throughout to toward towards
under up upon via am is are was were be been being do does did doing have has had having can could may might must shall should will would
ought need needs needed get gets got getting gotten go goes going gone went come comes came coming let lets make makes made making
take takes took taken taking give gives gave given giving put puts keep keeps kept keeping say says said tell tells told
know knows knew known think thinks thought see sees saw seen seem seems seemed want wants wanted
not never ever always often sometimes again also too very really quite rather just only even still already almost
now today tonight tomorrow soon later once twice away back together ahead aside apart well far long
im ive ill id youre youve youll youd were weve well wed theyre theyve its thats theres heres whats lets dont doesnt didnt isnt arent wasnt werent
wont wouldnt cant cannot couldnt shouldnt havent hasnt hadnt i'm i've i'll i'd you're you've you'll you'd we're we've we'll we'd
they're they've they'll it's that's there's here's what's who's how's let's don't doesn't didn't isn't aren't wasn't weren't won't wouldn't can't
couldn't shouldn't haven't hasn't hadn't he's she's everything's t s re ve ll m d
way ways thing things kind sort part side end case time times day days week moment moments bit
first last next whole entire full such rest
able about actually basically certainly simply clearly merely truly however therefore thus hence moreover furthermore meanwhile
e.g i.e etc cf vs please oh ah hey hmm um uh er

der die das den dem des ein eine einen einem einer eines und oder aber wenn dann als wie wo was wer warum ich du er sie es wir ihr mich dich
sich uns euch mir dir ihm ihnen mein* dein* sein* unser* euer* eure* ihr* bin bist ist sind seid war waren habe hast hat haben hatte hatten
wird werde werden wurde wurden kann kannst konnen muss mussen soll sollte will mochte mag darf nicht kein* auch noch schon nur sehr so zu zum zur im
in an am auf aus bei mit nach von vom vor fur uber unter durch gegen ohne um bis da dass weil ob hier dort jetzt immer wieder ja nein doch mal ganz
etwas nichts alles alle allem allen jede* dies* diese* mehr viel viele vielen beim ins ans dabei dafur damit davon daran dazu

le la les un une des du de l d et ou mais si donc or ni car que qui quoi dont ou je tu il elle nous vous ils elles me te se lui leur leurs mon ma mes ton ta tes
son sa ses notre nos votre vos ce cet cette ces cela ca c qu j n m s t est suis es sommes etes sont etait etaient ai as a avons avez ont avais aurai sera serai etre avoir
fait faire pas ne plus tres bien aussi encore toujours jamais tout tous toute toutes rien avec sans pour par dans sur sous chez vers entre en y au aux meme comme alors

el los las una uno unos unas y e o u pero si no que quien cual cuando donde como porque yo tu usted ustedes ellos ellas nosotros me te se nos les lo le mi mis tus su sus nuestro nuestra
este esta esto estos estas ese esa eso esos esas es soy eres somos son era fue ha he has hemos han sido estar estoy estamos estan muy mas tan tambien todo toda todos todas nada algo
siempre nunca ya aun con sin por para de del al en entre sobre hasta desde a ser haber hacer

o os as um uma uns umas e ou mas se nao que quem qual quando onde como porque eu voce voces ele ela eles elas nos meu minha meus minhas teu seu sua seus suas nosso nossa nossos
este esta isto esse essa isso aquele e sou somos sao foi era tem tenho temos estou esta estamos muito mais tambem tudo todo toda todos nada algo sempre nunca ja ainda com sem por para de do da dos das em no na nos nas ao aos pelo pela foi ser ter

il lo gli i uno una un e o ma se non che chi cui quando dove come perche io tu lui lei noi voi loro mi ti ci vi si mio mia miei tuo tua suo sua nostro nostra vostro vostra
questo questa quello quella sono sei siamo siete era stato stata ho hai ha abbiamo hanno molto piu anche tutto tutti tutta niente sempre mai gia ancora con senza per di da del della dei delle al alla ai nel nella su tra fra a essere avere

de het een en of maar als dan dat die dit deze wie wat waar hoe ik jij je u hij zij ze wij we jullie mij me jou hem haar ons onze mijn jouw uw zijn hun ben bent is was waren heb hebt heeft
hebben had word wordt worden kan kunt kunnen moet zal zullen wil niet geen ook nog al alleen heel zeer zo te ten ter in op aan bij met van voor naar uit door over om tot er hier daar nu altijd weer alles

och att det den ett en som pa av med for till fran jag du han hon vi ni de mig dig oss er min din var vart ar har hade inte ocksa mycket sa om men eller kan ska vill nar hur vad allt igen
og at det den et som paa av med til fra jeg du han hun vi i dere meg deg oss min din vaar er har ikke ogsaa ogsa meget saa om men eller kan skal vil naar hvordan alt igjen
i a w we z ze na do od po za przez dla o u nie tak to ten ta te jest sa byl byla bylo bede bedzie jak co kto gdzie kiedy czy ale albo lub oraz sie ja ty on ona my wy oni moj twoj nasz wasz ci mi cie bardzo juz jeszcze tez zawsze wszystko
a v ve na do od po za pro o u ne ano to ten ta je jsem jsi jsme jste jsou byl byla bylo jak co kdo kde kdyz ale nebo se si ja ty on my vy ti mi velmi moc jeste uz vse
ve bir bu su o da de mi mu ben sen biz siz onlar icin ile gibi cok daha en ne nasil her sey var yok degil olarak
dan yang di ke dari untuk dengan ini itu saya anda kamu kami kita mereka adalah ada tidak bukan juga sudah akan bisa sangat lebih semua pada atau
ja on ei se han me te he mina sina olen olet oli ovat etta kun jos mutta tai myos viela nyt hyvin kaikki
es un az a hogy nem is van volt ez nagyon meg de vagy mint ha csak en te mi ti
и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по только ее мне было вот от меня еще нет о из ему теперь когда даже ну ли если уже или ни быть был него до вас вам вами нибудь опять уж ведь там потом себя ничего
ей может они тут где есть надо ней для мы нас нам нами тебя тебе их чем была сам чтоб чтобы без будто чего раз тоже себе под будет этот эта это эти того потому этого какой ним здесь этом мой моя мои твой твоя ваш ваша ваши ваше наш наша наше наши очень всё всем всех вместе всегда при про об со
і й та у в з із на до не що як ми ви він вона це цей ця для дуже все всі але або чи є був була вже ще мені вам нам вас нас ваш наш
في من على الى إلى عن مع هذا هذه ذلك ان أن إن ما لا كل هو هي نحن انا أنا انت أنت لك لكم لي لنا كان قد و يا هل
है हैं था थी थे का की के को से में पर और या भी नहीं यह वह ये मैं हम आप तुम मेरा मेरी आपका आपकी आपके हमारे हमारा बहुत एक इस उस ने कर हो गया लिए
και το η ο να σε με για από απο τα την τον του της στο στη είναι ειναι ήταν πολύ πολυ μας σας μου σου δεν θα που αν
את של על אני אתה הוא היא אנחנו זה זאת לא כן גם עם אם או כי מאוד לך לכם לי לנו היה יש אין כל
`

const personalWords = `
i me my mine myself we us our ours ourselves you your yours yourself yourselves i'm i've i'll i'd you're you've you'll you'd we're we've we'll we'd let's im ive
youre youve youll youd weve each_other one_another both_of_us
ich mich mir mein* du dich dir dein* wir uns unser* euch euer* ihnen
je moi mon ma mes tu te toi ton ta tes nous notre nos vous votre vos
yo mi mis mio mia me tu tus te ti contigo conmigo tuyo tuya nosotros nuestro nuestra usted ustedes
eu meu minha meus minhas voce voces contigo comigo consigo nosso nossa teu tua
io mio mia mi ti tuo tua noi nostro nostra voi vostro vostra te
ik mij mijn jij je jou jouw wij ons onze jullie u uw
jag mig min mitt du dig din ditt jeg meg mig din dig deg oss
ja mnie moj moja moje ty ciebie tobie toba tobie cie twoj twoja twoje my nas nam nasz nasza wy was
tebe tobe tvoje tvuj muj moje vas vam vami nas nam
ben beni bana benim sen seni sana senin seninle biz bize bizim siz sizi size sizin sizinle
saya aku anda kamu kita kami
я меня мне мной мной мой моя мои моей ты тебя тебе тобой твой твоя твои твоей мы нас нам нами наш наша вы вас вам вами ваш ваша вашей вашу ваше
जी मैं मुझे मेरा मेरी आप आपका आपकी आपके आपको आपसे हम हमें
나 저 제가 저도 저야말로 당신 우리 저희
toi minh ban chung
`

const courtesyWords = `
ederim dilerim mutlu yardimci* gercekten sag demek oyle uzere ne_demek
جزيلا العفو كلمات* الجميل* لطف* سعيد* حقا أتمنى اتمنى يوما سعيدا السعادة أهلا
mutual feeling_is_mutual modest* gifted gift gifts humbled touched moved inspir* charm* eloquen* poetic* elegan* favourite favorite credit applause grace grateful fond* cheer* laugh* haha hahaha hehe lol ha wow whoa aww aw
serenity oneness kindred wondrous breathtaking unparalleled second_to_none top-notch first-rate world-class exquisite masterful* adept conscientious dependable patient patience supportive satisf* relief relieved comfort* reassur* loyal*
up_to_you your_call after_you insist go_ahead go-ahead give_the_word say_the_word green_light convenience suit suits prefer* in_the_loop keep_you_posted keep_me_posted keep_in_touch stay_in_touch in_touch be_in_touch
forgiv* fault trouble bother* inconvenien* worries worry no_harm my_bad oops whoops let's_do_this let's_do_it here_we_go can't_wait cannot_wait let's_go lets_go happy_coding peace_out namaste thx! much_obliged obliged indebted
truest dearest bestest glorious* majestic divine sublime heavenly blissful bliss luminous radian* tapestr* symphon* beacon harmoni* harmony cosmos stardust kindness_itself means_a_lot means_the_world means_so_much
right_there_with_you with_you_on_that i_hear_you amen true_that so_true very_true quite_right quite_so rightly_so for_sure without_a_doubt no_doubt one_hundred_percent hundred_percent percent thousand_times million_times million
yes_indeed yes_please of_service at_ease carry_on as_you_wish as_you_were after_all all_yours all_ears
receipt receipts standby_mode stand-by awaiting heartbeat keepalive keep-alive alive ping pong nominal

meinerseits macht's mach's machs wohl spitze mega traum* unglaublich* geehrt stolz* kompliment* kolleg* gluck* verlasslich* zuverlassig* nochmals nochmal feierabend erhol* zustimmung exakt notiert passt ordnung okay hoffe hoffentlich dankbar* anerkenn* bewunder* lob* tschau fein spass_gemacht sowieso begeister*
aide* aider agreabl* remarquabl* touche* fier fiere fiers chaleureu* amicalement cordialement collegue* magnifiq* incroyabl* extraordinair* fantastiq* impeccable* hate impatien* chapeau salutations soin* evidemment souci egalement pareillement reciproque* partag* merveill* rejoui* apprecie* honore* certes exact noter note recu
gran grande companer* cuenta orgullos* bonit* hermos* lind* palabra* corazon chao chau vemos hablamos muchisim* totalmente absolutamente exacto exactamente correcto supuesto espero espera* deseo desea* bendicion* generos* talent* admir* impresionante increible* magnific* espectacular* aplaus* tengas tenga tengan mismo digo conmigo contigo merec* gust*
ador* competente* palavras merec* conte conta* valeu beleza tranquilo legal fechado parceir* parceria honra orgulho* ansios* cuide-se cuide gost* grand* admir* espetacular* incriv* certeza tenha igualmente
niente brav* troppo cuore spero onorat* onore orgoglios* colleg* stupend* splendid* incredibil* esatto esattamente assolutamente certamente volentieri abbracci* saluto mille tante tanti piaciut* fortunat* auguri* anch'io ammir* stima
hartelijk* hetzelfde prettig* trots geniet* genoten collega* uiteraard natuurlijk zeker helemaal precies hopelijk snel knap gaaf super topwerk dank_je dank_u geen_probleem geen_dank probleem wens*
toppen ingen_fara ingen_orsak fara orsak roligt rolig* kul kollega* varmer hors fin fint fina detsamma kanon* jattebra skon* hjalp* uppskatt* lugnt sjalvklart precis haller_med instamm* redo okej verkligen riktigt selv_tak ingen_arsag arsag hjaelp* hjelp* glaed* gled* enig forstaet dejlig* hyggelig* snakkes held_og_lykke lykke flot flott supert kjempebra likemate fornoj* fantastisk* onsk*
nie_ma_za_co stronie zadowol* slowa zycz* wzajemnie ciesz* zaszczyt* gratul* uscisk* trzymaj jasne oczywiscie pewnie dokladnie racja zgadza* czekam przyjemno* fantastycz* mily mila kochan* rado* wdzieczn* znakomi* rewelac* cala po_mojej raz_jeszcze jeszcze_raz drobiazg
neni_zac radi rada dik* mil* skvel* uzasn* krasn* hezk* preji prej* stesti uspech* vdecn* souhlas* jasne samozrejme presne take tobe_take vam_take
большое понравил* понадоб* обязательно стесняй* встреч* успех* профессионал* внимательн* добр* дорогой дорогая коллег* слова слово сердц* искренн* вдохнов* пожел* жела* надею* надежд* снова скорой скорого спокойной ночи взаимн* наслажд* чудесн* любезн* классно круто ура ок окей принято подтвержд* ожида* большущее огромн* потрясающ* восхи* уважен* всех_благ благ не_за_что что_вы да_не_за
дуже_дякую будьласка насолод* задовол* приємн* бажаю гарн* взаємн* чудово
sevindim memnuniyet* keyif* zevkti gunler gorus* kendine bak basar* tebrik* ayni sekilde katil* elbette tabii kesinlikle hazir* bekl* onur* gurur* cok_iyi muthis
dengan_senang_hati senang_hati sangat_membantu hati semangat sukses sehat bangga terbaik keren mantap oke baik
nagyon_szep szep* kedves* orul* oromm* szuper remek* minden_jot jot ugyan viszont
kiitoks* samoin paivanjatkoa paivaa hyvaa ihan erittain mukavaa mielellani avusta avustasi iloinen upea* mahtava*
multumesc mersi cu_placere placere bine la_revedere revedere pa noroc felicitari excelent* minunat* perfect* grozav* amabil* drag* cu_drag bucur*

thank* thx ty tysm tyvm thanx tnx grateful* gratitude appreciat* welcome* pleasure* glad* delight* honor* honour* privilege* cheers kudos congrat* bravo hooray hurray
yay woohoo woot yippee hurrah props applau* salute* bow compliment* flatter* prais* admir* respect* toast heartfelt warmest warmly warm warmth sincere* genuin* kind kindly kindness
kindest gracious* generous* generosity thoughtful* considerate courteous polite* humble* humbl* hello hi greetings goodbye bye byebye farewell* adieu adios ciao cya ttyl
goodnight cheerio toodle* toodles sayonara hasta regards wishes wish wishing best luck godspeed blessing* bless* sorry apolog* excus* forgive
awesome amazing* fantastic* wonderful* excellent* excellence brilliant* brillian* superb* splendid* marvel* magnific* fabulous* terrific* phenomenal* outstanding* exceptional* extraordinar* remarkable*
remarkably incredible incredibly impressi* stellar exemplary inspir* delightful* lovely beautiful* great greatest greatly good goodness nice nicely neat cool sweet super perfect* flawless* impeccable impeccably spectacular* tremendous* fine
happy happily happiest happiness joy* joyful* enjoy* fun pleased pleasant* proud* pride cherish* treasure* valued invaluable priceless memorable unforgettable rewarding enriching fulfilling uplift* hearten* encourag* motivat* energiz* energis*
excit* thrill* eager* enthusias* passion* love* loving adore* hope* hopeful* optimis* confiden*
agree* agreed agreement absolutely definitely exactly precisely indeed certainly surely totally completely wholeheartedly fully undoubtedly likewise ditto same_here same_to_you right_back same_page
ok okay okey okie oki kk alright sure sure_thing roger wilco acknowledg* ack acked noted understood understand gotcha affirmative copy_that aye confirmed indeedy duly loud_and_clear
ready readiness standing_by standby stand_by waiting await* available availab* idle idling on_call on_hand at_your_service service_to_you at_the_ready disposal listening here_for_you
assist* assistance help* happy_to feel_free don't_hesitate hesitate reach_out reach_back reaching_out let_me_know anything_else anything_you_need any_time anytime whenever_you whenever_needed further_instructions further_notice
no_problem no_worries not_a_problem no_prob np nw yw don't_mention_it mention_it you_bet of_course by_all_means my_pleasure all_mine you_too to_you_too and_you
got_it makes_sense sounds_good sounds_great sounds_like_a_plan sounds_perfect looks_good looks_great fair_enough well_said well_done well_put good_job great_job nice_work great_work good_work nicely_done good_call great_call great_point good_point excellent_point
couldn't_agree_more couldn't_have_said could_not_agree_more could_not_have_said said_it_better hear_hear my_thoughts_exactly spot_on right_on you're_right that's_right exactly_right on_the_mark nailed_it nail_on_the_head
take_care see_you see_ya catch_you until_next talk_soon talk_to_you talk_later speak_soon good_night good_morning good_evening good_afternoon sweet_dreams have_a_great have_a_good have_a_nice have_a_wonderful have_a_lovely so_long signing_off sign_off
over_and_out farewell until_we_meet meet_again stay_safe stay_well rest_easy rest_well all_the_best best_of_luck good_luck fingers_crossed safe_travels bon_voyage
looking_forward look_forward high_five fist_bump thumbs_up pat_on_the_back virtual_high take_a_bow hats_off tip_of_the_hat hat_tip cheers_to here's_to two_of_us group_hug hug* smile* wave* waving wink
all_set all_good we're_good good_to_go nothing_to_add nothing_further nothing_else nothing_more no_further nothing_to_report no_change no_changes no_update no_updates no_news no_action all_quiet all_clear all_is_well still_here still_waiting
rock_on rockstar rock_star legend champ champion superstar hero dream_team a_gem gem friend* mate buddy pal comrade partner* teammate* colleague* collaborat* companion* teamwork team_work synerg* camarad* rapport bond*
grat* cordial* amicab* collegial* fellowship solidarity goodwill

dank* danke* bitte* gern gerne gerngeschehen herzlich* freut freue freuen freude vergnugen tschuss* wiedersehen wiederhoren bis_bald bis_dann schonen schone schones gute guten gutes wunsche wunsch* grusse gruss* hallo servus toll* super klasse prima wunderbar* hervorragend*
ausgezeichnet* fantastisch* grossartig* perfekt* genau stimmt einverstanden verstanden alles_klar keine_ursache kein_problem jederzeit zusammenarbeit hilfe helfen geholfen bereit warte erfolg* lob freundlich* nett* angenehm* ebenfalls gleichfalls ebenso
lieb* liebe schatze* wertschatz* spass bestens einwandfrei richtig naturlich selbstverstandlich absolut zustimm* viel_gluck ehre
merci* remerci* bienvenu* plaisir* rien_de de_rien je_vous_en_prie bonne* bon* journee soiree continuation revoir bientot salut* bonjour bonsoir felicitation* bravo excellent* parfait* magnifique* genial* formidable* superbe* ravi* heureu* enchant* honneur gentil* aimable* cordial*
accord d_accord bien_recu entendu compris absolument exactement disposition volontiers souhait* chance agreable* collabor* reconnaiss* gratitude pret prete disponible
gracias agradec* agradezco gratitud nada_que de_nada placer gusto encant* bienvenid* adios hasta_luego hasta_pronto luego pronto saludo* buen buena buenas buenos suerte exito* excelente* perfecto* perfecta genial* fantastic* maravill* increible* estupend* felic* enhorabuena
acuerdo de_acuerdo entendido claro vale listo lista dispuest* disponible igualmente abrazo* cuidate honor* amable* colabor* ayud* trabajo_en_equipo espero
obrigad* agradec* grato prazer bem-vind* tchau ate_logo ate_breve ate_mais logo abraco* boa* bom sorte sucesso parabens excelente* otimo otima perfeito* maravilh* incrivel* combinado entendido certo concordo igualmente disposicao colabora* ajud* feliz disponha imagina alegria gentileza
grazie* ringrazi* prego piacere benvenut* arrivederci ciao a_presto presto buona* buon* saluti fortuna successo complimenti eccellente* ottimo ottima perfetto* perfetta fantastic* meraviglios* magnific* d'accordo accordo certo capito altrettanto disposizione collabor* aiut* felice gentil* figurati onore
dank dankjewel dankuwel bedankt graag gedaan plezier welkom tot_ziens ziens doei groet* succes fijne fijn mooi goed goede prachtig* uitstekend* geweldig* perfect* fantastisch* leuk akkoord eens begrepen prima klaar beschikbaar samenwerk* hulp helpen
tack* valkommen noje hej* adjo vi_ses lycka bra utmarkt perfekt* fantastisk* underbar* trevlig* glad samarbet* halsning* forstatt takk* velkommen fornoyelse hade ha_det hilsen flott bra perfekt tak fornojelse farvel godt
dziekuj* dzieki prosze przyjemnosc milo witaj* do_widzenia widzenia czesc pozdraw* powodzenia swietn* wspanial* doskonal* super zgadzam zgoda rozumiem wspolprac* pomoc* gotow* dobre dobrze milego rowniez
dekuji* dekuju diky prosim radost* potesen* vitej* nashledanou na_shledanou ahoj pozdrav* hodne_stesti skvel* vyborn* perfektni souhlasim rozumim spoluprac* pomoc* pripraven*
tesekkur* sagol* rica_ederim rica memnun* zevk* hoscakal hosca gorusmek* gorusuruz merhaba selam* iyi guzel harika* mukemmel* tamam* anladim katiliyorum basarilar yardim* isbirlig* kolay_gelsin
terima_kasih terimakasih kasih makasih sama-sama sama_sama kembali senang selamat sampai_jumpa jumpa salam bagus hebat luar_biasa sempurna setuju mengerti siap bantuan membantu kerja_sama kerjasama sukses semoga
kiitos* kiitan ole_hyva tervetuloa ilo mukava* hienoa hieno* erinomai* loistava* nakemiin hei moi terve samaa_mielta ymmarran onnea yhteistyo*
koszon* szivesen orom* viszlat viszontlatas* udv* szia nagyszeru* kivalo* tokelet* egyetertek ertem egyuttmukod* segit* sok_sikert
спасибо* благодар* пожалуйста рад рада рады радость удовольств* приятно* приятн* привет* здравствуй* свидания пока прощай* удачи удачного успехов отлично* отличн* прекрасно* прекрасн* замечательн* великолепн* превосходн* идеальн* супер хорошо хорошего хорош* согласен согласна согласны
понял поняла понятно понимаю ясно ладно конечно именно точно верно взаимно обращайтесь сотрудничеств* помощь помощи помочь помог* готов готова готовы жду ждем честь ценю всего_доброго доброго добрый наилучш* поздравля* молодец* молодцы здорово
дякую* дяки прошу радий рада приємн* будь_ласка побачення вітаю* чудов* відмінн* згоден згодна зрозумі* співпрац* допомог* готов* успіхів гарного
شكرا* شكر* عفوا* أهلا* اهلا* مرحبا* سعيد* سعدت سرور* ممتاز* رائع* جميل* السلامة وداعا* بالتوفيق موفق* اتفق* أتفق* مفهوم حسنا* نعم تمام* جاهز* شرف* تعاون* مساعد* تحيات*
धन्यवाद* शुक्रिया* आभार* स्वागत* खुशी* ख़ुशी* नमस्ते* अलविदा* शुभकामन* बढ़िया* शानदार* उत्कृष्ट* अच्छा* अच्छी* ठीक* समझ* सहमत* तैयार* मदद* सहयोग* बिल्कुल*
ευχαριστ* παρακαλ* χαρά χαρα* χαίρομαι αντίο αντιο γεια καλή* καλη* καλό* τέλεια* τελεια* εξαιρετικ* υπέροχ* συμφων* κατάλαβα* έτοιμ* συνεργασ* βοήθει*
תודה* בבקשה שמח* שמחה* להתראות ביי שלום בהצלחה מצוין* מעולה* נהדר* מושלם* מסכים* הבנתי מוכן* עזרה*
감사* 고맙* 고마* 천만* 수고* 반갑* 안녕* 환영* 기쁘* 기뻐* 즐거* 즐겁* 행복* 영광* 훌륭* 완벽* 멋지* 멋진* 최고* 좋은* 좋습* 좋아* 좋네* 좋겠* 동의* 맞습* 맞아* 네 예 알겠* 이해* 확인했* 화이팅* 파이팅* 응원* 기대* 도움* 도와* 언제든* 대기* 준비* 협업* 협력* 함께* 덕분* 별말씀* 잘 정말* 진심* 또 뵙* 만나* 축하* 건승* 저도* 저야말로* 여러분* 모두* 항상* 늘 다음에* 필요하* 말씀* 하루* 되세요* 되시* 보내세요*
cam_on* cam xin_chao tam_biet chuc* rat_vui vui tot tuyet_voi dong_y hieu_roi san_sang hop_tac
`

const vagueWords = `
calis* بالعمل العمل عمل*
chance memory memories remind* proof sum parts difference progress product detail* ability abilities mark example raise* strength* asset role foundation impact influence momentum energy vibe* rhythm flow* pace circuits duet dance* melod* echo* woven weav* resonan* essence eternal bloom* flourish* blossom*
ease easier fast quick* speed* professional* polish* style tone voice* listen* hear heard presence space room nothing_left left over moment_of turn* word notice notif* change* update* status state confirm* confirmation receive* received required remain* continu* discussed proceed* begin* onset
trait* reussi* bon_travail idee* resultat* lavoro_fatto squadr* parol* cosa cose palavr* coisa* pessoa* dia_a_dia trabalh* trabaj* aprend* appris apprend* impar* lern* gelernt worte nachst* bis_zum zukunft* weiterhin
jobba* jobb* fortsat* nasta framover dag dagen kvall* helg* uge uke
pracowa* robot* wspoln* nastepn* dzien wieczor* tydzien
работа* сделан* дело дела любое время совместн* предстоящ* настроени* мир

work* working worked well team teams project* effort* job jobs task tasks thing session* conversation* discussion* exchange* dialogue* chat interaction* experience* journey* adventure* ride path road milestone* chapter accomplish* achiev* succe* result* outcome*
contribut* involve* dedicat* commit_to commitment* diligen* hardwork* hard care careful* thorough* thoroughness meticulous* attentive* attention detail-oriented precision_and professional* expertise skill* talent* craft* craftsman* artistry
insight* perspective* idea* thinking mindful wisdom wise smart clever creativ* innovat* ingenu* knowledge* understanding clarity clear concise comprehensive* guidance guide* support* feedback input suggestion* advice point points sentiment* feeling* feel feels felt thought* word* words note message* reply
smooth* seamless* effective* efficient* productiv* fruitful* meaningful* valuable value* worthwhile positive* constructive* strong* solid high highest quality standard* level best better truly deep* profound* immense* immeasurab* endless* infinit* boundless* forever etern*
future further upcoming opportunit* endeavor* endeavour* venture* pursuit* challenge* horizon* possibilit* potential* wherever whatever comes lies_ahead ahead path_ahead new bright* light* spark* shine* shin* star* glow* beacon symphon* harmon* melod* dance* tapestr* canvas masterpiece* poetry magic* dream* heart* soul* spirit* mind* world universe cosmos sky magnificent testament reflect* embod* resonat* echo* mutual* shared share* sharing collective* together both_of_us
forward continue* continuing carry_on carrying keep_up stay* remain* always whenever need needs arise* require* instruction* request* question* order* command* direction* duty service serv* call calls signal* ping cue wait* waits pause rest break relax
finish* complet* conclu* wrap* wrapped wrapping close* closed closing end ends ending final* finally done mission* accomplished goal* objective* handoff arrive* reach* everything set quiet calm peace* steady silence silent still present presence nominal
grow* growth learn* learned learnt lesson* improv* evolv* strive* aspir* excel* shine build* building built bring* brought brings foster* creat* shap* forg* turn* turned turns pull* rely reli* trust* trusted reliab* depend*
fact true truth correct* accurate* right reason* sense agreeable perfectly say said mean* means opinion* view* believe* sound* sounds look* looks idea_that case important* crucial vital essential key especially particularly matter* truly approach* vision align* aligned alignment consensus direction plan* way_forward principle*
person people human* ai agent* assistant* system* everyone anyone folks guys man dude sir madam boss captain chief bot dear
tomorrow tonight morning evening afternoon night day days weekend week year years minute* hour* moment* time* while occasion* season holiday* coffee tea drink lunch celebrat* party cake champagne
happen* wonder* deserve* earn* mention* express* extend* offer* receiv* accept* pass* passing return* send* sending convey* add* adding leave* left leaving hand* hands touch* join* joining meet* meeting met connect* connection* cross* paths catch
possible* bit little big large huge small tiny entire overall general* usual* true rare simple simply easy easier real*
arbeit* gearbeitet team projekt* aufgabe* tag abend woche wochenende zeit mal freund* austausch gesprach* ergebnis* leistung* beitrag* einsatz muhe gemeinsam* zusammen weiter* weiterhin zukunft* nachste* mal fertig erledigt abgeschlossen bald melde* sag* sagen brauch* gut wirklich echt einfach hier immer wunsche
travail* equipe projet* tache* jour temps semaine fois ami* echange* resultat* effort* ensemble prochain* prochaine* futur* besoin* hesite* vraiment belle beau aussi cote mien part suite
trabajo* equipo proyecto* tarea* dia tarde noche tiempo semana vez amigo* intercambio resultado* esfuerzo* junto* juntos proxim* futuro* necesit* duda* dudes verdad* bien mejor parte aqui estare mio tuyo realmente cualquier cosa cuando quieras
trabalho* equipe projeto* tarefa* dia tarde noite tempo semana vez amigo* resultado* esforco* juntos proxim* futuro* precis* hesit* verdade bem melhor parte aqui estarei meu realmente qualquer coisa quando
lavoro* squadra progetto* compito giorno giornata sera serata tempo settimana volta amic* risultat* sforz* insieme prossim* futuro* bisogno* davvero bene meglio parte qui mio qualsiasi cosa quando lavorare
werk* team project* dag avond tijd week keer vriend* resulta* samen volgende toekomst* nodig echt goed jij ook
arbete* arbeta* projekt* dag kvall tid vecka gang resultat* tillsammans nasta framtid* arbeid* sammen neste
praca* pracy pracowa* projekt* dzien dnia czas razem nastepn* przyszlosc* naprawde spolecz* efekt* wynik*
работ* команд* проект* задач* день дня вечер* врем* раз друг* результат* вклад* усили* вместе следующ* будущ* нужно нужн* всего дальнейш* обща* общени* действительно вопрос* случа* если
작업* 일* 팀* 프로젝트* 결과* 시간* 오늘* 내일* 앞으로* 계속* 진행* 성공* 의견* 생각* 문제없* 같이* 있습니다* 있겠* 하겠습니다* 합니다* 입니다* 였습니다* 했습니다* 됩니다* 드립니다* 주세요* 주셔서* 주시면* 때문* 수 것* 더 그 이 제 저 제가 저희*
calis* proje* gun zaman tekrar birlikte gelecek sonuc* kerja pekerjaan proyek hari waktu tim hasil bersama depan munka* nap ido tyo* paiva* prace den spolu
`

const progressWords = `
yes no yep yup yeah yea nope nah ja nein oui non si da nyet true false done next continue continuing proceed proceeding go going start starting started begin beginning finished complete completed finish fixed fix
passed pass pushed merged merge approve approved lgtm ship shipped stop wait update updated correct right maybe perhaps first second third last again retry try so far hold on_it working_on_it
hecho listo siguiente fertig weiter erledigt termine suivant fatto pronto feito proximo готово дальше далее следующий klaar volgende gotowe dalej
`

// unspacedCourtesy and unspacedFunction are for scripts that put no space between words.
const unspacedCourtesy = `
赞 認可 认可 鼓励 鼓勵 夸奖 誇獎 谦虚 謙虛 过奖 過獎 哪里 哪裡 一直 随叫随到 聊 到此 结束 結束 完成 完毕 信任 精神 温暖 溫暖 幸福 快乐 快樂 健康 平安 周末 休息 享受 值得 骄傲 驕傲 自豪 智慧 才华 才華 耐心 认真 認真 负责 負責 效率 高效 配合 顺畅 順暢 任务 任務 有劳 拜托 拜託 打扰 抱歉 对不起 對不起 不好意思 没关系 沒關係 共勉 前程 似锦 万事 萬事 如意 生活 愿 願 感受 难得 難得 由衷 深深 满意 滿意 心情 笑 喜欢 喜歡 爱 愛 想法 看法 观点 觀點 有同感
役 立て 立つ 頂き 頂け 感激 尊い 誠に 心より 深く 敬意 信頼 相談 連絡 遠慮 無理 お体 体 気 幸せ 最後 挨拶 返信 共に 働 嬉 思 願 楽 待 致 申 上げ 出来 日々 素 皆 全て 同じ 気持ち 笑顔 応援 充実 時間 経験 勉強 学び 感謝 力添え 尽力 配慮 丁重
谢谢 謝謝 感谢 感謝 多谢 多謝 不客气 不客氣 不用谢 不用謝 别客气 客气 客氣 荣幸 榮幸 高兴 高興 愉快 开心 開心 合作 再见 再見 拜拜 回头见 保重 祝 祝你 祝您 顺利 順利 好运 好運 成功 加油 辛苦 辛苦了 棒 太棒 真棒 优秀 優秀 出色 完美 精彩 厉害 厲害
很好 太好 好的 好 收到 明白 了解 知道 没问题 沒問題 没事 当然 當然 同意 赞同 贊同 确实 確實 没错 沒錯 是的 对的 完全 一样 彼此 随时 隨時 待命 等待 准备 準備 帮助 幫助 帮忙 幫忙 支持 期待 希望 下次 您好 你好 晚安 早安 欣赏 欣賞 佩服 尊敬 共同 一起 团队 團隊
努力 付出 贡献 貢獻 专业 專業 细致 細緻 美好 一天 一切 未来 未來 交流 需要 任何 联系 聯繫 告诉 告訴 继续 繼續 工作 非常 特别 真的 十分 衷心 诚挚 真诚 珍惜 互相 学习 學習 收获 收穫 进步 進步 更好 朋友 伙伴 夥伴 默契 圆满 圓滿 庆祝 慶祝 恭喜 祝贺 祝賀 问题 請 请 说 說 话 事 再次 今后 今後 之后 以后 機會 机会 时候 時候 时间 時間
ありがとう ございます ございました どういたしまして こちらこそ よろしく お願い おねがい いたします します しました お疲れ様 お疲れさま おつかれ お世話 素晴らしい すばらしい 素敵 嬉しい うれしい 光栄 感動 最高 完璧 了解 承知 かしこまり 分かりました わかりました はい ええ そうですね その通り おっしゃる通り 同感 賛成 同意
失礼 さようなら また また明日 では それでは 頑張 がんばり 頑張って お気軽に 気軽 いつでも 待機 待って お待ち 準備 協力 お力 力 助け 助かり お手伝い 楽しみ 楽しかった 楽し 次回 今後 今日 一緒 皆さん 皆様 仕事 作業 成功 成果 期待 幸い 何か 必要 申し 思い 言葉 お言葉 丁寧 本当 大変 引き続き 是非 ぜひ 良い よい 良かった 機会 時 際 方 事 素早 迅速 対応 恐縮 尊敬 勉強 お互い 互い 貴重 心 願って 祈って 健闘
ขอบคุณ ยินดี ครับ ค่ะ คะ สวัสดี โชคดี เยี่ยม ดีมาก ด้วย ตกลง เข้าใจ พร้อม ช่วย
`

const unspacedPersonal = `
我 你 您 我们 我們 你们 你們 咱们 彼此 私 僕 俺 君 あなた ผม ฉัน คุณ เรา
`

const unspacedFunction = `
的 了 是 我 你 您 他 她 它 们 們 在 有 和 也 就 都 不 很 这 這 那 吧 啊 呢 吗 嗎 与 與 及 对 對 为 為 以 会 會 能 可 可以 要 想 让 讓 被 把 从 從 到 给 給 跟 地 得 着 著 过 過 还 還 又 再 更 最 太 真 多 少 大 小 上 下 中 里 裡 一 个 個 次 些 什么 什麼 怎么 如果 因为 所以 但 但是 而 且 或 无 無 没 沒 所 之 其 此 每 各 哦 哈 嗯 呀 啦 哪 自己 我们 我們 你们 大家 这次 這次 如此 这样 這樣 此次 本次 先 后 後 前 做 来 來 去 看 见 見 用
私 僕 俺 君 貴方 彼 何 今 皆 様 日 的 一 又 目 回 点 人
`

// lexicon is the table made of the lists.
type lexicon struct {
	words    map[string]role // whole words and phrases, their words joined by a space
	stems    map[string]role
	shortest int // runes of the shortest and longest stem
	longest  int
	phrases  map[string]int  // the most words of a phrase that begins with this one
	unspaced map[string]role // of scripts without spaces
	widest   int             // runes of its longest entry
}

// known is built once; nothing changes it.
var known = newLexicon()

func newLexicon() *lexicon {
	l := &lexicon{words: map[string]role{}, stems: map[string]role{}, phrases: map[string]int{}, unspaced: map[string]role{}, shortest: 99}
	// What comes later counts more.
	for _, list := range []struct {
		text string
		role role
	}{{vagueWords, vague}, {functionWords, function}, {personalWords, personal}, {courtesyWords, courtesy}, {progressWords, progress}} {
		for _, entry := range strings.Fields(list.text) {
			l.add(entry, list.role)
		}
	}
	for _, entry := range strings.Fields(unspacedFunction) {
		l.addUnspaced(entry, function)
	}
	for _, entry := range strings.Fields(unspacedPersonal) {
		l.addUnspaced(entry, personal)
	}
	for _, entry := range strings.Fields(unspacedCourtesy) {
		l.addUnspaced(entry, courtesy)
	}
	return l
}

func (l *lexicon) add(entry string, r role) {
	if stem, ok := strings.CutSuffix(entry, "*"); ok {
		n := len([]rune(stem))
		l.stems[stem] = r
		l.shortest, l.longest = min(l.shortest, n), max(l.longest, n)
		return
	}
	phrase := strings.ReplaceAll(entry, "_", " ")
	l.words[phrase] = r
	if first, _, more := strings.Cut(phrase, " "); more {
		l.phrases[first] = max(l.phrases[first], strings.Count(phrase, " ")+1)
	}
}

func (l *lexicon) addUnspaced(entry string, r role) {
	l.unspaced[entry] = r
	l.widest = max(l.widest, len([]rune(entry)))
}

// of is the role of a single word.
func (l *lexicon) of(word string) role {
	if r, ok := l.words[word]; ok {
		return r
	}
	runes := []rune(word)
	for n := min(len(runes), l.longest); n >= l.shortest; n-- {
		if r, ok := l.stems[string(runes[:n])]; ok {
			return r
		}
	}
	return content
}

// phraseAt is the longest phrase of at least two words with which words begin: its role
// and how many they are, or none.
func (l *lexicon) phraseAt(words []string) (role, int) {
	for n := min(len(words), l.phrases[words[0]]); n > 1; n-- {
		if r, ok := l.words[strings.Join(words[:n], " ")]; ok {
			return r, n
		}
	}
	return content, 0
}
