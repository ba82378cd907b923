// Command server is the admission path as a Go engineer would write it: controller-runtime's own webhook server with a
// typed Defaulter and a typed Validator, default settings, and no log line a request. The bench measures ours beside it.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"flag"
	"fmt"
	"log"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// heldNames is how many names of other pipelines stand in the index.
const heldNames = 5000

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// writeCertificates makes an authority and a leaf of ECDSA P-256, as our server does.
func writeCertificates(dir string) {
	caKey := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "reference-webhook-ca"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "reference-webhook"},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.ParseIP("127.0.0.1")},
	}
	blocks := map[string]*pem.Block{
		"ca.crt":  {Type: "CERTIFICATE", Bytes: must(x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey))},
		"tls.crt": {Type: "CERTIFICATE", Bytes: must(x509.CreateCertificate(rand.Reader, leaf, ca, key.Public(), caKey))},
		"tls.key": {Type: "PRIVATE KEY", Bytes: must(x509.MarshalPKCS8PrivateKey(key))},
	}
	for name, block := range blocks {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			log.Fatal(err)
		}
	}
}

func compileSchema(path string) *jsonschema.Schema {
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("config.json", must(jsonschema.UnmarshalJSON(must(os.Open(path))))); err != nil {
		log.Fatal(err)
	}
	return must(compiler.Compile("config.json"))
}

func main() {
	port := flag.Int("port", 0, "port on 127.0.0.1")
	schemaPath := flag.String("schema", "", "config.json of sentry-streams")
	dir := flag.String("cert-dir", "", "empty folder that gets ca.crt, tls.crt and tls.key")
	flag.Parse()

	ctrl.SetLogger(zap.New())
	writeCertificates(*dir)
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(GroupVersion, &StreamingPipeline{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	index := &Index{owner: map[string]string{}}
	for i := range heldNames {
		index.owner[fmt.Sprintf("default/held-pipeline-p%d-0", i)] = fmt.Sprintf("default/p%d", i)
	}
	server := webhook.NewServer(webhook.Options{
		Host: "127.0.0.1", Port: *port, CertDir: *dir,
		// As kubebuilder's scaffold has it.
		TLSOpts: []func(*tls.Config){func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }},
	})
	server.Register("/mutate", admission.WithDefaulter(scheme, &Defaulter{}))
	server.Register("/validate", admission.WithValidator(scheme, &Validator{schema: compileSchema(*schemaPath), index: index}))
	if err := server.Start(ctrl.SetupSignalHandler()); err != nil {
		log.Fatal(err)
	}
}
