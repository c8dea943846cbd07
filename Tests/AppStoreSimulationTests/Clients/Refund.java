// Sees a refund with Java alone. Usage: java Refund.java READY.json
// The CA is given in code; a client that takes none reads it from a trust store:
//   keytool -importcert -noprompt -alias simulator -file <ca_file> -keystore simulator.p12 -storepass changeit
//   java -Djavax.net.ssl.trustStore=simulator.p12 -Djavax.net.ssl.trustStorePassword=changeit ...
import java.io.FileInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.Signature;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

public class Refund {
    static String ready;
    static HttpClient client;

    static String member(String json, String name) {
        var found = Pattern.compile("\"" + name + "\":\"?([^\",}]*)").matcher(json);
        if (!found.find()) throw new IllegalStateException(name + " is missing in " + json);
        return found.group(1);
    }

    static String token() throws Exception {
        long now = System.currentTimeMillis() / 1000;
        var encoder = Base64.getUrlEncoder().withoutPadding();
        String header = "{\"alg\":\"ES256\",\"kid\":\"" + member(ready, "key_id") + "\",\"typ\":\"JWT\"}";
        String claims = "{\"iss\":\"" + member(ready, "issuer_id") + "\",\"iat\":" + now + ",\"exp\":"
            + (now + 300) + ",\"aud\":\"appstoreconnect-v1\",\"bid\":\"" + member(ready, "bundle_id") + "\"}";
        String text = encoder.encodeToString(header.getBytes()) + "." + encoder.encodeToString(claims.getBytes());
        String pem = Files.readString(Path.of(member(ready, "key_file"))).replaceAll("-----[^-]*-----|\\s", "");
        var key = KeyFactory.getInstance("EC")
            .generatePrivate(new PKCS8EncodedKeySpec(Base64.getDecoder().decode(pem)));
        var signature = Signature.getInstance("SHA256withECDSAinP1363Format");
        signature.initSign(key);
        signature.update(text.getBytes());
        return text + "." + encoder.encodeToString(signature.sign());
    }

    static String ask(HttpRequest.Builder request) throws Exception {
        return client.send(request.build(), BodyHandlers.ofString()).body();
    }

    static void look(String id) throws Exception {
        var address = URI.create(member(ready, "endpoint") + "/inApps/v1/subscriptions/" + id);
        System.out.println("status " + member(
            ask(HttpRequest.newBuilder(address).header("Authorization", "Bearer " + token())), "status"));
    }

    public static void main(String[] arguments) throws Exception {
        ready = Files.readString(Path.of(arguments[0]));
        var store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        try (var file = new FileInputStream(member(ready, "ca_file"))) {
            store.setCertificateEntry(
                "simulator", CertificateFactory.getInstance("X.509").generateCertificate(file));
        }
        var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(store);
        var tls = SSLContext.getInstance("TLS");
        tls.init(null, trust.getTrustManagers(), null);
        // Over plain HTTP this client would ask for an upgrade to HTTP/2, which the control port does not know.
        client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).sslContext(tls).build();
        var control = member(ready, "control") + "/_simulator/";
        var id = member(ask(HttpRequest.newBuilder(URI.create(control + "customers"))), "original_transaction_id");
        look(id);
        ask(HttpRequest.newBuilder(URI.create(control + "advance"))
            .POST(HttpRequest.BodyPublishers.ofString("{\"days\": 2}")));
        look(id);
    }
}
